"""General knowledge of wordings: what a term in a question is called in documents, and in which section it stands.

Plain vocabulary of business, research and manuals; nothing here comes from a particular document. Planning applies it.
"""

from dataclasses import dataclass

BALANCE = "balance sheet"
INCOME = "income statement"
CASH_FLOW = "cash flow statement"
EQUITY = "statement of equity"

SECTIONS: dict[str, tuple[str, ...]] = {
    BALANCE: ("consolidated balance sheets", "statement of financial position"),
    INCOME: ("consolidated statements of income", "consolidated statements of operations", "statements of earnings"),
    CASH_FLOW: ("consolidated statements of cash flows",),
    EQUITY: ("consolidated statements of shareholders equity", "statements of stockholders equity"),
    "comprehensive income": ("consolidated statements of comprehensive income",),
}
"""A section's everyday name and the headings it goes under."""

SECTION_NAMES: dict[str, str] = {
    "balance sheet": BALANCE,
    "statement of financial position": BALANCE,
    "financial position": BALANCE,
    "income statement": INCOME,
    "statement of income": INCOME,
    "statements of income": INCOME,
    "statement of operations": INCOME,
    "statement of earnings": INCOME,
    "p&l": INCOME,
    "profit and loss": INCOME,
    "cash flow statement": CASH_FLOW,
    "statement of cash flow": CASH_FLOW,
    "statements of cash flow": CASH_FLOW,
    "cashflow statement": CASH_FLOW,
    "statement of equity": EQUITY,
    "shareholders' equity statement": EQUITY,
    "comprehensive income": "comprehensive income",
}


@dataclass(frozen=True, slots=True)
class Term:
    """A term of questions: the words it goes by, what documents print instead, and the sections that hold the parts."""

    names: tuple[str, ...]
    wordings: str
    sections: tuple[str, ...] = ()


TERMS: tuple[Term, ...] = (
    Term(
        ("capex", "capital expenditure", "capital spending"),
        "capital expenditures purchases of property and equipment additions to property plant and equipment",
        (CASH_FLOW,),
    ),
    Term(("cogs", "cost of goods sold"), "cost of sales cost of revenue cost of products sold", (INCOME,)),
    Term(
        ("d&a", "depreciation and amortization", "depreciation & amortization"),
        "depreciation amortization",
        (CASH_FLOW,),
    ),
    Term(("ebitda",), "operating income depreciation and amortization adjusted EBITDA", (INCOME, CASH_FLOW)),
    Term(("ebit",), "operating income earnings before interest and taxes", (INCOME,)),
    Term(("pp&e", "ppne", "fixed asset"), "property plant and equipment net", (BALANCE,)),
    Term(
        ("dpo", "days payable", "payables turnover"),
        "accounts payable cost of sales inventories",
        (BALANCE, INCOME),
    ),
    Term(
        ("dso", "days sales outstanding", "receivables turnover"), "accounts receivable net revenue", (BALANCE, INCOME)
    ),
    Term(
        ("dio", "days inventory", "inventory turnover", "days of inventory"),
        "inventories cost of sales",
        (BALANCE, INCOME),
    ),
    Term(
        ("cash conversion cycle", "ccc"),
        "accounts receivable inventories accounts payable cost of sales",
        (BALANCE, INCOME),
    ),
    Term(("quick ratio", "acid test"), "total current assets inventories total current liabilities", (BALANCE,)),
    Term(
        ("current ratio", "working capital", "liquidity ratio"),
        "total current assets total current liabilities",
        (BALANCE,),
    ),
    Term(
        ("operating cash flow", "cash from operations", "cash flow from operations", "cash flow from operating"),
        "net cash provided by operating activities",
        (CASH_FLOW,),
    ),
    Term(
        ("operating cash flow ratio",),
        "net cash provided by operating activities total current liabilities",
        (CASH_FLOW, BALANCE),
    ),
    Term(
        ("free cash flow", "free cashflow", "fcf"),
        "net cash provided by operating activities purchases of property and equipment",
        (CASH_FLOW,),
    ),
    Term(
        ("investing activities", "financing activities"),
        "net cash used in investing financing activities",
        (CASH_FLOW,),
    ),
    Term(("fixed asset turnover",), "total revenue net sales property plant and equipment net", (BALANCE, INCOME)),
    Term(("asset turnover",), "total revenue net sales total assets", (BALANCE, INCOME)),
    Term(
        ("return on asset", "return on total asset", "return on average asset", "return on average total asset", "roa"),
        "net income total assets",
        (BALANCE, INCOME),
    ),
    Term(
        ("return on equity", "return on average equity", "return on common equity", "roe"),
        "net income total shareholders equity",
        (BALANCE, INCOME),
    ),
    Term(
        (
            "return on invested capital",
            "return on capital employed",
            "return on capital",
            "invested capital",
            "capital employed",
            "roic",
            "roce",
        ),
        "operating income total debt total equity total assets current liabilities",
        (BALANCE, INCOME),
    ),
    Term(("gross margin", "gross profit"), "gross profit cost of sales net revenue", (INCOME,)),
    Term(("operating margin", "operating income", "operating profit"), "operating income from operations", (INCOME,)),
    Term(("net margin", "net profit", "profit margin", "net income"), "net income net earnings", (INCOME,)),
    Term(
        ("effective tax rate", "tax rate", "tax expense"),
        "provision for income taxes income before income taxes effective tax rate",
        (INCOME,),
    ),
    Term(("interest coverage", "interest expense"), "interest expense operating income", (INCOME,)),
    Term(
        ("dividend payout", "payout ratio", "retention ratio", "dividends paid", "cash dividends"),
        "cash dividends paid net income attributable",
        (CASH_FLOW, INCOME),
    ),
    Term(("eps", "earnings per share", "earnings per ordinary share"), "earnings per share basic diluted", (INCOME,)),
    Term(
        (
            "total debt",
            "average total debt",
            "debt to equity",
            "debt to asset",
            "debt to capital",
            "capitalization ratio",
            "leverage ratio",
            "debt ratio",
            "gearing",
        ),
        "long-term debt current portion of long-term debt total equity",
        (BALANCE,),
    ),
    Term(
        (
            "current liabilities",
            "current assets",
            "total assets",
            "average total assets",
            "total liabilities",
            "total liability",
            "cash balance",
            "total equity",
            "common equity",
            "shareholder equity",
            "stockholder equity",
            "cash and cash equivalents",
            "accounts receivable",
            "accounts payable",
            "inventory",
            "inventories",
            "goodwill",
            "retained earnings",
            "long-term debt",
        ),
        "total assets total liabilities and equity",
        (BALANCE,),
    ),
    Term(("revenue", "net sales", "sales", "top line"), "net sales total revenues net revenue", (INCOME,)),
    Term(
        ("operating expense", "opex", "sg&a", "r&d expense"),
        "selling general and administrative operating expenses",
        (INCOME,),
    ),
    Term(
        ("share repurchase", "repurchase", "buyback", "buy back"),
        "repurchases of common stock share repurchase program",
    ),
    Term(
        ("lawsuit", "legal battle", "litigation", "legal dispute"), "legal proceedings litigation claims contingencies"
    ),
    Term(("headquarter", "head office"), "principal executive offices"),
    Term(
        ("agm", "annual general meeting", "shareholder vote"),
        "annual meeting of shareholders votes for against abstain",
    ),
    Term(
        ("segment", "product categor", "business line", "line of business"),
        "segment information reportable segments revenue by",
    ),
    Term(("acquisition", "acquired"), "business combinations acquisitions purchase price"),
    Term(
        ("shares outstanding", "registered securities", "debt securities"),
        "title of each class trading symbol exchange registered",
    ),
    Term(("restructur", "layoff", "severance"), "restructuring charges employee severance"),
    Term(("phone", "telephone", "contact number"), "contact phone tel call"),
    Term(("email", "e-mail"), "contact email @"),
)
