"""The icons that templates may show, by their names in Lucide (https://lucide.dev/icons)."""

SPRITE = "vendor/lucide/icons.svg"  # written by `make design`
ICONS = (
    "arrow-down",
    "arrow-up",
    "book-open",
    "building-2",
    "chevrons-up-down",
    "circle-user",
    "gauge",
    "grip-vertical",
    "house",
    "inbox",
    "key-round",
    "list-checks",
    "log-out",
    "menu",
    "panel-left",
    "plus",
    "scroll-text",
    "search",
    "shield-alert",
    "trash-2",
    "users",
    "webhook",
    "wrench",
    "x",
)
