"""What the elements of synthetic screenshots say. No word is used for two kinds of elements."""

from __future__ import annotations

from uiproof.benchmarks.grounding.data import ElementType

_BUTTONS = """
Save|Cancel|Submit|Apply|Continue|Sign in|Register|Delete|Add item|Send|Upload|Download|Print
Export|Import|Share|Refresh|Start|Stop|Finish|Confirm|Reset|Undo|Redo|Publish|Archive|Duplicate
Subscribe|Checkout|Book now|Pay|Compare|Connect|Install|Update|Verify|Accept|Decline|Reply|Forward
Preview|Generate|Launch|Join|Leave|Invite|Filter|Sort|Enable|Restore|Merge|Copy|Paste|Create account
Place order|Get started|Try again|Log out|OK|Go
"""
_LINKS = """
Forgot password?|Learn more|Terms of use|Privacy policy|Contact us|Help centre|About us|Careers
Read article|View all|Show details|Release notes|Documentation|Community|Site map|Press kit|Imprint
Cookie notice|Report a problem|Give feedback|Change plan|Manage cookies|See examples|Our partners
Shipping costs|Size guide|Opening hours|Gift cards|Newsroom|Investors|Blog|FAQ|Pricing|Tutorials
Mirror sites|Licences|Accessibility|Store finder|Student offers|Roadmap
"""
_TEXTS = """
Welcome back|Overview|Recent activity|Total revenue|Account balance|Order summary|Your profile
Team members|Weekly report|Last login|Unread messages|Storage used|Monthly goal|Next payment|Status
Pending tasks|System health|New customers|Conversion rate|Visitors today|Project plan|Open tickets
Shipping address|Billing details|Top products|Latest news|Performance|Server load|Active users
Inventory|Upcoming events|Work log|Sales|Profit|Budget|Tasks|Notes|Drafts|Goals|Queue|Backlog
Quarterly results|Response time|Free trial|Premium plan|Version 4.2|Last backup|Draft saved|Room 214
12 items found|3 days left|Step 2 of 5|Total 48.90|In stock|Sold out|Offline|Synced|Page 7
"""
_FIELDS = """
Email address|Password|Username|First name|Last name|Phone number|Street|City|Postcode|Company
Job title|Website|Search term|Card number|Promo code|Comment|Subject|Message|Full name|Nickname
Order number|Tax number|Birthday|Amount|Quantity|Coupon|House number|File name|Tag|Title|Keyword
Account number|Middle name|Department|Height|Weight|Floor|PIN
"""
_CHECKBOXES = """
Remember me|I agree|Send copies|Show hidden files|Auto-save|Dark mode|Large print|Mute sounds
Gift wrap|Express delivery|Weekly digest|Use location|Keep me signed in|Public profile
Two-step login|Spell check|Line numbers|Word wrap|Snap to grid|Loop video|Subtitles
Read aloud|Backups|Invoices
Sticky|Urgent|Private|Pinned|Repeat|All day|Rulers|Grid|Guides|Zoom lock|Hints|Sound
"""
_DROPDOWNS = """
Country|Language|Time zone|Currency|Category|Sort order|Date range|Font size|Page layout|Priority
Payment method|Delivery slot|Colour|Size|Region|Theme|Quality|Resolution|Format|Account type
Year|Month|Weekday|Role|Group|Branch|Printer|Paper|Speed|Unit|Level|Gender|Model|Brand|Season|Shift
"""


def _split(block: str) -> tuple[str, ...]:
    return tuple(block.strip().replace("\n", "|").split("|"))


WORDS = {
    ElementType.BUTTON: _split(_BUTTONS),
    ElementType.LINK: _split(_LINKS),
    ElementType.TEXT: _split(_TEXTS),
    ElementType.TEXT_FIELD: _split(_FIELDS),
    ElementType.CHECKBOX: _split(_CHECKBOXES),
    ElementType.DROPDOWN: _split(_DROPDOWNS),
}
