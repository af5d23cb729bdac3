"""Start times of ten schools in San Francisco (Drossman, Jacquillat and Martin 2026, arXiv:2604.02666, table 6)."""

from oragent.converse.problems.district import District, School

EARLY, MIDDLE, LATE = 470, 520, 570  # 7:50, 8:40 and 9:30 in the morning

SFUSD = District(
    "sfusd",
    (
        School("Muir (John) PK", "PK", 242, 570),
        School("Ortega (Jose) PK", "PK", 399, 560),
        School("McCoppin (Frank) PK", "PK", 225, 560),
        School("Transition Training Center (Access)", "HS", 5, 480),
        School("Balboa HS", "HS", 1226, 495),
        School("Galileo HS", "HS", 1851, 480),
        School("Everett MS", "MS", 709, 480),
        School("Lick (James) MS", "MS", 466, 510),
        School("Cobb (Dr William L) ES", "ES", 136, 520),
        School("Lawton K-8 (K-5)", "K8", 598, 570),
    ),
    (EARLY, MIDDLE, LATE),
)

DEFAULT = "CCCABAABBC"  # what a conversation opens with; the optimum where both weights are 1
