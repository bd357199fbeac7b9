"""
Names and types of files that no field takes: web pages, scripts and programs. One list for definitions and for files.

Source: the lists of https://support.google.com/mail/answer/6590, and https://mimesniff.spec.whatwg.org/ for HTML.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(f".{word}" for word in text.split())


HTML_NAMES = _words("html htm xhtml xht xhtm shtml shtm stm mht mhtml maff hta htc svg svgz xsl xslt swf")
SCRIPT_NAMES = _words(
    "js mjs cjs jse jsx vb vbe vbs ws wsc wsf wsh sct ps1 ps1xml ps2 ps2xml psc1 psc2 psm1 psd1 bat cmd btm sh bash zsh"
    " csh ksh fish command tool terminal scpt applescript scptd php php3 php4 php5 php7 phtml phar asp aspx ashx asmx"
    " jsp jspx cgi pl pm py pyc pyo pyw pyz rb lua tcl ahk au3 reg inf scf url webloc desktop lnk library-ms"
    " search-ms settingcontent-ms appref-ms gadget job nsh"
)
PROGRAM_NAMES = _words(
    "exe com scr pif dll ocx cpl sys drv vxd msi msp mst msix msixbundle appx appxbundle msc ade adp mde ins isp shb"
    " chm hlp jar war ear class jnlp apk xapk aab ipa dex app pkg mpkg dmg deb rpm run elf so dylib o lib ko wasm"
    " cab diagcab diagcfg diagpkg iso img vhd vhdx udf xll wll xla xlam ppa ppam ex ex_ crx xpi vsix air appimage"
    " snap flatpak flatpakref nupkg kext prg"
)

# Their media types, as far as a definition may name one.
REFUSED_TYPES = frozenset(
    {
        *("text/html", "application/xhtml+xml", "multipart/related", "image/svg+xml", "application/hta"),
        *("text/javascript", "application/javascript", "application/x-javascript", "application/ecmascript"),
        *("application/x-sh", "application/x-shellscript", "application/x-csh", "application/x-httpd-php"),
        *("application/x-msdownload", "application/x-msdos-program", "application/x-dosexec", "application/x-msi"),
        *("application/vnd.microsoft.portable-executable", "application/x-executable", "application/x-elf"),
        *("application/x-mach-binary", "application/x-sharedlib", "application/java-archive", "application/wasm"),
        *("application/vnd.android.package-archive", "application/vnd.debian.binary-package"),
        *("application/x-iso9660-image", "application/x-apple-diskimage", "application/x-shockwave-flash"),
    }
)
REFUSED = HTML_NAMES | SCRIPT_NAMES | PROGRAM_NAMES | REFUSED_TYPES
