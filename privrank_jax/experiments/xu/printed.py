"""The printed tables of Xu, Sun and Cheng (2 to 11), as data: means and standard errors.

Tables 3 and 5 to 9 print the standard deviation over 200 replicates in parentheses, which is converted here to the
standard error of the mean; Tables 2, 10 and 11 print standard errors; Table 4 prints a share of 200 replicates. Three
cells of Table 8 (BTL, 10 items, 100 users) are blank in the copy that was read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from privrank_jax.experiments.claims import Printed, Wanted

REPLICATES = 200


def _wide(columns: Sequence[str], users: Sequence[int], text: str, **where: Wanted) -> Printed:
    """Lines of ``columns``, then mean and standard deviation at each number of users ("-" where blank)."""
    cells = {}
    for line in text.strip().splitlines():
        words = line.split()
        head = tuple(_value(word) for word in words[: len(columns)])
        for index, number in enumerate(users):
            mean, deviation = words[len(columns) + 2 * index :][:2]
            if mean != "-":
                cells[(*head, number)] = (float(mean), float(deviation) / math.sqrt(REPLICATES))
    return Printed((*columns, "num_users"), cells, where=where)


def _long(columns: Sequence[str], text: str) -> Printed:
    """Lines of ``columns`` (commas between), mean and standard error."""
    cells = {}
    for line in text.strip().splitlines():
        *head, mean, error = [_value(word.strip()) for word in line.split(",")]
        cells[tuple(head)] = (float(mean), float(error))
    return Printed(tuple(columns), cells)


def _value(word: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


TABLE_3 = _wide(
    ("metric", "num_items"),
    (100, 200, 300),
    """
l2_error 10  0.0815 0.0224  0.0596 0.0175  0.0476 0.0145
l2_error 20  0.0535 0.0087  0.0384 0.0071  0.0319 0.0064
l2_error 30  0.0434 0.0065  0.0300 0.0042  0.0252 0.0032
sigma_error 10  0.1974 0.1527  0.1576 0.0951  0.1511 0.0726
sigma_error 20  0.0658 0.0549  0.0445 0.0363  0.0391 0.0306
sigma_error 30  0.0589 0.0430  0.0388 0.0299  0.0319 0.0229
""",
    estimator="two-step",
)

TABLE_5 = _wide(
    ("link", "metric", "num_items"),
    (100, 200, 300, 400),
    """
BTL l2_error 10  0.1104 0.0301  0.0770 0.0193  0.0633 0.0164  0.0552 0.0135
BTL l2_error 20  0.0796 0.0128  0.0551 0.0091  0.0450 0.0074  0.0393 0.0066
BTL l2_error 30  0.0653 0.0086  0.0455 0.0058  0.0373 0.0048  0.0324 0.0042
TM l2_error 10  0.0779 0.0203  0.0541 0.0133  0.0439 0.0109  0.0383 0.0096
TM l2_error 20  0.0546 0.0091  0.0376 0.0064  0.0308 0.0052  0.0267 0.0044
TM l2_error 30  0.0441 0.0061  0.0308 0.0042  0.0252 0.0033  0.0219 0.0026
BTL linf_error 10  0.2158 0.0738  0.1506 0.0466  0.1226 0.0363  0.1052 0.0294
BTL linf_error 20  0.1736 0.0375  0.1204 0.0266  0.0995 0.0212  0.0864 0.0201
BTL linf_error 30  0.1548 0.0329  0.1064 0.0186  0.0869 0.0161  0.0755 0.0144
TM linf_error 10  0.1514 0.0515  0.1054 0.0319  0.0846 0.0276  0.0731 0.0212
TM linf_error 20  0.1209 0.0282  0.0823 0.0195  0.0678 0.0166  0.0591 0.0138
TM linf_error 30  0.1056 0.0226  0.0726 0.0147  0.0594 0.0123  0.0516 0.0100
""",
)

TABLES_6_7 = _wide(
    ("link", "scheme", "metric", "num_items"),
    (100, 200, 400, 800),
    """
BTL 1 l2_error 10  0.1028 0.0246  0.0801 0.0179  0.0670 0.0142  0.0546 0.0133
BTL 1 l2_error 20  0.0843 0.0157  0.0656 0.0109  0.0551 0.0089  0.0450 0.0067
BTL 1 l2_error 30  0.0726 0.0093  0.0589 0.0075  0.0488 0.0063  0.0414 0.0051
BTL 2 l2_error 10  0.1028 0.0246  0.0853 0.0182  0.0774 0.0168  0.0737 0.0177
BTL 2 l2_error 20  0.0911 0.0168  0.0795 0.0128  0.0705 0.0113  0.0703 0.0120
BTL 2 l2_error 30  0.0827 0.0101  0.0750 0.0097  0.0728 0.0095  0.0712 0.0100
BTL 3 l2_error 10  0.1028 0.0246  0.0948 0.0216  0.1026 0.0234  0.1142 0.0289
BTL 3 l2_error 20  0.1023 0.0193  0.1060 0.0174  0.1151 0.0180  0.1332 0.0228
BTL 3 l2_error 30  0.1035 0.0131  0.1122 0.0143  0.1303 0.0168  0.1492 0.0232
TM 1 l2_error 10  0.0699 0.0170  0.0562 0.0135  0.0486 0.0115  0.0400 0.0102
TM 1 l2_error 20  0.0597 0.0105  0.0468 0.0080  0.0410 0.0073  0.0341 0.0059
TM 1 l2_error 30  0.0503 0.0064  0.0416 0.0052  0.0358 0.0050  0.0306 0.0041
TM 2 l2_error 10  0.0699 0.0170  0.0612 0.0152  0.0567 0.0128  0.0573 0.0150
TM 2 l2_error 20  0.0663 0.0116  0.0604 0.0101  0.0531 0.0097  0.0556 0.0093
TM 2 l2_error 30  0.0595 0.0073  0.0555 0.0078  0.0555 0.0076  0.0549 0.0072
TM 3 l2_error 10  0.0699 0.0170  0.0685 0.0169  0.0770 0.0196  0.0906 0.0228
TM 3 l2_error 20  0.0760 0.0139  0.0814 0.0144  0.0880 0.0136  0.1037 0.0205
TM 3 l2_error 30  0.0785 0.0115  0.0840 0.0114  0.1014 0.0150  0.1186 0.0192
BTL 1 linf_error 10  0.2018 0.0586  0.1548 0.0416  0.1277 0.0324  0.1067 0.0304
BTL 1 linf_error 20  0.1865 0.0469  0.1435 0.0318  0.1224 0.0292  0.0990 0.0207
BTL 1 linf_error 30  0.1733 0.0351  0.1380 0.0286  0.1125 0.0219  0.0988 0.0188
BTL 2 linf_error 10  0.2018 0.0586  0.1656 0.0445  0.1478 0.0369  0.1416 0.0390
BTL 2 linf_error 20  0.2017 0.0486  0.1747 0.0379  0.1559 0.0344  0.1573 0.0373
BTL 2 linf_error 30  0.1978 0.0398  0.1770 0.0365  0.1714 0.0329  0.1653 0.0335
BTL 3 linf_error 10  0.2018 0.0586  0.1818 0.0498  0.1977 0.0503  0.2179 0.0666
BTL 3 linf_error 20  0.2279 0.0571  0.2349 0.0555  0.2533 0.0560  0.2875 0.0671
BTL 3 linf_error 30  0.2486 0.0496  0.2649 0.0566  0.3111 0.0628  0.3525 0.0761
TM 1 linf_error 10  0.1348 0.0419  0.1093 0.0315  0.0924 0.0268  0.0792 0.0243
TM 1 linf_error 20  0.1320 0.0350  0.1045 0.0245  0.0936 0.0240  0.0760 0.0183
TM 1 linf_error 30  0.1198 0.0251  0.0980 0.0194  0.0852 0.0172  0.0733 0.0152
TM 2 linf_error 10  0.1348 0.0419  0.1198 0.0360  0.1091 0.0304  0.1105 0.0346
TM 2 linf_error 20  0.1468 0.0370  0.1373 0.0336  0.1161 0.0275  0.1253 0.0288
TM 2 linf_error 30  0.1426 0.0289  0.1358 0.0295  0.1335 0.0261  0.1331 0.0307
TM 3 linf_error 10  0.1348 0.0419  0.1323 0.0419  0.1474 0.0437  0.1754 0.0530
TM 3 linf_error 20  0.1694 0.0445  0.1826 0.0458  0.1952 0.0423  0.2351 0.0672
TM 3 linf_error 30  0.1913 0.0424  0.2047 0.0462  0.2525 0.0616  0.2974 0.0850
""",
)

TABLES_8_9 = _wide(
    ("link", "metric", "gap", "num_items"),
    (100, 200, 300),
    """
BTL full_ranking_error 0.05 10  - -  0.1144 0.0484  0.0896 0.0395
TM full_ranking_error 0.05 10  0.0987 0.0458  0.0582 0.0323  0.0429 0.0280
BTL full_ranking_error 0.1 10  - -  0.0416 0.0267  0.0287 0.0240
TM full_ranking_error 0.1 10  0.0323 0.0236  0.0128 0.0153  0.0081 0.0136
BTL full_ranking_error 0.15 10  - -  0.0167 0.0175  0.0106 0.0154
TM full_ranking_error 0.15 10  0.0148 0.0156  0.0028 0.0074  0.0014 0.0055
BTL full_ranking_error 0.05 20  0.0575 0.0178  0.0357 0.0128  0.0257 0.0101
TM full_ranking_error 0.05 20  0.0313 0.0126  0.0159 0.0085  0.0099 0.0063
BTL full_ranking_error 0.1 20  0.0229 0.0099  0.0111 0.0070  0.0059 0.0048
TM full_ranking_error 0.1 20  0.0098 0.0067  0.0029 0.0042  0.0011 0.0024
BTL full_ranking_error 0.15 20  0.0120 0.0077  0.0041 0.0048  0.0018 0.0030
TM full_ranking_error 0.15 20  0.0048 0.0049  0.0010 0.0025  0.0003 0.0013
BTL full_ranking_error 0.05 30  0.0312 0.0081  0.0184 0.0056  0.0130 0.0048
TM full_ranking_error 0.05 30  0.0162 0.0053  0.0077 0.0032  0.0042 0.0029
BTL full_ranking_error 0.1 30  0.0122 0.0047  0.0051 0.0027  0.0027 0.0024
TM full_ranking_error 0.1 30  0.0055 0.0035  0.0020 0.0020  0.0007 0.0013
BTL full_ranking_error 0.15 30  0.0062 0.0035  0.0022 0.0021  0.0008 0.0014
TM full_ranking_error 0.15 30  0.0038 0.0029  0.0010 0.0014  0.0003 0.0008
BTL top_k_error 0.05 10  0.1520 0.1207  0.1120 0.1163  0.0860 0.1032
TM top_k_error 0.05 10  0.0920 0.1058  0.0620 0.0949  0.0500 0.0868
BTL top_k_error 0.1 10  0.0690 0.0994  0.0490 0.0885  0.0370 0.0779
TM top_k_error 0.1 10  0.0260 0.0674  0.0160 0.0544  0.0070 0.0368
BTL top_k_error 0.15 10  0.0360 0.0770  0.0240 0.0652  0.0110 0.0457
TM top_k_error 0.15 10  0.0130 0.0494  0.0030 0.0244  0.0010 0.0141
BTL top_k_error 0.05 20  0.0535 0.0539  0.0315 0.0466  0.0250 0.0434
TM top_k_error 0.05 20  0.0300 0.0459  0.0100 0.0301  0.0090 0.0287
BTL top_k_error 0.1 20  0.0220 0.0415  0.0090 0.0287  0.0045 0.0208
TM top_k_error 0.1 20  0.0100 0.0301  0.0005 0.0071  0.0005 0.0071
BTL top_k_error 0.15 20  0.0090 0.0287  0.0010 0.0100  0.0005 0.0071
TM top_k_error 0.15 20  0.0040 0.0196  0.0000 0.0000  0.0000 0.0000
BTL top_k_error 0.05 30  0.0240 0.0328  0.0157 0.0283  0.0120 0.0257
TM top_k_error 0.05 30  0.0103 0.0242  0.0030 0.0139  0.0013 0.0094
BTL top_k_error 0.1 30  0.0063 0.0196  0.0023 0.0123  0.0003 0.0047
TM top_k_error 0.1 30  0.0030 0.0139  0.0000 0.0000  0.0000 0.0000
BTL top_k_error 0.15 30  0.0033 0.0146  0.0000 0.0000  0.0000 0.0000
TM top_k_error 0.15 30  0.0013 0.0094  0.0000 0.0000  0.0000 0.0000
""",
)

TABLE_2 = _long(
    ("link", "metric", "estimator"),
    """
BTL, full_ranking_error, ADRR, 0.0757, 0.0030
-, full_ranking_error, Count, 0.0859, 0.0037
BTL, full_ranking_error, Classic RR, 0.0841, 0.0036
BTL, full_ranking_error, Laplace, 0.1198, 0.0046
TM, full_ranking_error, ADRR, 0.0767, 0.0031
TM, full_ranking_error, Classic RR, 0.0844, 0.0036
TM, full_ranking_error, Laplace, 0.1193, 0.0046
""",
)

# Paired t statistics against ADRR; the table prints them for BTL only.
TABLE_2_T = {"Count": 4.1219, "Classic RR": 3.4277, "Laplace": 9.4314}
TABLE_2_P = {"Count": 5.5e-5, "Classic RR": 7.4e-4, "Laplace": 1.1e-17}

_SHARES = {
    10: (0.630, 0.680, 0.750, 0.795),
    20: (0.695, 0.795, 0.870, 0.895),
    30: (0.795, 0.845, 0.930, 0.940),
}
TABLE_4 = Printed(
    ("num_items", "num_users"),
    {
        (items, users): (share, math.sqrt(share * (1 - share) / REPLICATES))
        for items, shares in _SHARES.items()
        for users, share in zip((100, 200, 400, 800), shares, strict=True)
    },
    least=False,
    where={"link": "either"},  # the mean over both links, as the paper draws one of them
)

TABLES_10_11 = _long(
    ("link", "metric", "estimator"),
    """
BTL, l2_error, ADRR, 0.0882, 0.0019
BTL, l2_error, NoisyObj, 0.1327, 0.0045
BTL, l2_error, Laplace, 0.2221, 0.0057
BTL, l2_error, Classic RR, 0.3545, 0.0012
BTL, linf_error, ADRR, 0.1889, 0.0042
BTL, linf_error, NoisyObj, 0.2581, 0.0080
BTL, linf_error, Laplace, 0.4852, 0.0149
BTL, linf_error, Classic RR, 0.6107, 0.0025
TM, l2_error, ADRR, 0.0670, 0.0019
TM, l2_error, Laplace, 0.1930, 0.0081
TM, l2_error, Classic RR, 0.3770, 0.0010
TM, linf_error, ADRR, 0.1478, 0.0038
TM, linf_error, Laplace, 0.4440, 0.0222
TM, linf_error, Classic RR, 0.6437, 0.0018
BTL, full_ranking_error, ADRR, 0.0221, 0.0009
BTL, full_ranking_error, Count, 0.0374, 0.0013
TM, full_ranking_error, ADRR, 0.0112, 0.0006
TM, full_ranking_error, Count, 0.0206, 0.0009
""",
)
