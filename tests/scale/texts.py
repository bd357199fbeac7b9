"""The texts of generated submissions, without Django: a benchmark searches for them too."""

SPAM_EVERY = 20  # rows: 5 % are spam
UNREAD_EVERY = 5_000  # rows: the first of them is unread, and no spam
NAMES = ("Ana Ruiz", "Jonas Weber", "Mei Tanaka", "Olu Adeyemi", "Priya Nair", "Sam O'Neill", "Zofia Nowak")
COMPANIES = ("Harbour Works", "Lindgren AB", "Northside Clinic", "Quartz & Sons", "Redwood School")
SENTENCES = (
    "I would like to know what the larger plan costs for a team of our size.",
    "Could you send me the brochure that was mentioned at the fair last week?",
    "The delivery arrived two days late and one of the boxes was damaged.",
    "We are planning a workshop in June and still look for a room with daylight.",
    "My order was charged twice, please check and refund one of the payments.",
    "Is it possible to change the address of our subscription before Monday?",
    "Your colleague was very kind on the phone, thank you for the quick answer.",
    "Please remove me from the mailing list, I have asked for it before.",
)

# Searched texts, and the rows that hold them; no other row does.
COMMON = "hello"  # 98 %
PERCENT = "backorder"  # 1 %
OLD_THIRD = "campaign"  # the oldest third, and nothing newer
RARE = "kingfisher"  # three: an old one, one in the middle, a new one
