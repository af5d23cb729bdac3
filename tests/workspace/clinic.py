"""The weekly rota of a small clinic: six people, five days, two shifts; a wage that only a mail states."""

__all__ = ["CLINIC"]

CLINIC = {
    "docs/business_requirement.md": """# Rota of the Weidenhof practice, week 49

Six people, five days, two shifts (early 7:30-13:00, late 12:30-19:00). We want the cheapest rota.

- Each shift needs as many nurses as `data/demand.csv` says, and at least one of them must be senior.
- Nobody works both shifts of a day, and nobody works an early shift on the day after a late shift.
- Nobody works more shifts a week than their contract (`staff.csv`).
- Absences are in `absences.csv`.
- If we are short, we can call the agency: `agency_rate` a shift, agency nurses are never senior. At most `agency_max` agency
  shifts a week.
- A shift pays the hourly wage times `shift_hours`; late shifts get `late_bonus` on top.
""",
    "docs/mail_from_petra.txt": """From: Petra
To: planning
Subject: Re: rota

Hi, Jonas' wage is missing in the list, he gets 24.50 an hour since October. And please remember that Mina may do
at most two late shifts this week.
""",
    "data/general_parameters.csv": """Parameter_Name,Value,Unit,Context_Description
shift_hours,5.5,h,paid hours of a shift
late_bonus,18,EUR,extra pay of a late shift
agency_rate,290,EUR,price of an agency shift
agency_max,6,shifts,most agency shifts a week
mina_late_max,2,shifts,most late shifts of Mina this week
""",
    "data/staff.csv": """name,senior,hourly wage (EUR),max shifts
Anna,1,29.00,5
Ben,0,23.50,4
Chiara,1,31.20,4
Jonas,0,,5
Mina,0,22.80,5
Tobias,1,30.00,3
""",
    "data/demand.csv": """day,early,late
Mon,3,2
Tue,2,2
Wed,3,2
Thu,2,2
Fri,3,1
""",
    "data/absences.csv": """name,day,reason
Anna,Wed,training
Ben,Mon,holiday
Chiara,Fri,holiday
Mina,Tue,school
""",
    "src/optimization_model.py": """'''Weekly rota of the practice at least cost.'''
import csv
import pathlib

import pulp

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
MISSING_WAGES = {"Jonas": 24.50}  # docs/mail_from_petra.txt


def rows(name):
    with open(DATA / name, newline="") as file:
        return list(csv.DictReader(file))


def main():
    p = {row["Parameter_Name"]: float(row["Value"]) for row in rows("general_parameters.csv")}
    staff = {row["name"]: row for row in rows("staff.csv")}
    demand = {row["day"]: {"early": int(row["early"]), "late": int(row["late"])} for row in rows("demand.csv")}
    absent = {(row["name"], row["day"]) for row in rows("absences.csv")}
    days, shifts = list(demand), ["early", "late"]
    wage = {name: float(row["hourly wage (EUR)"] or MISSING_WAGES[name]) for name, row in staff.items()}

    problem = pulp.LpProblem("rota", pulp.LpMinimize)
    work = pulp.LpVariable.dicts("work", (staff, days, shifts), cat="Binary")
    agency = pulp.LpVariable.dicts("agency", (days, shifts), lowBound=0, cat="Integer")
    problem += (
        pulp.lpSum(
            (wage[n] * p["shift_hours"] + (p["late_bonus"] if s == "late" else 0)) * work[n][d][s]
            for n in staff for d in days for s in shifts
        )
        + pulp.lpSum(p["agency_rate"] * agency[d][s] for d in days for s in shifts)
    )
    for d in days:
        for s in shifts:
            problem += pulp.lpSum(work[n][d][s] for n in staff) + agency[d][s] >= demand[d][s], f"cover_{d}_{s}"
            problem += pulp.lpSum(work[n][d][s] for n in staff if staff[n]["senior"] == "1") >= 1, f"senior_{d}_{s}"
    for n in staff:
        problem += pulp.lpSum(work[n][d][s] for d in days for s in shifts) <= int(staff[n]["max shifts"]), f"contract_{n}"
        for i, d in enumerate(days):
            problem += work[n][d]["early"] + work[n][d]["late"] <= 1, f"one_a_day_{n}_{d}"
            if i + 1 < len(days):
                problem += work[n][d]["late"] + work[n][days[i + 1]]["early"] <= 1, f"rest_{n}_{d}"
            if (n, d) in absent:
                problem += work[n][d]["early"] + work[n][d]["late"] <= 0, f"absent_{n}_{d}"
    problem += pulp.lpSum(agency[d][s] for d in days for s in shifts) <= p["agency_max"], "agency_limit"
    problem += pulp.lpSum(work["Mina"][d]["late"] for d in days) <= p["mina_late_max"], "mina_late"
    problem.solve()
    if problem.status == pulp.LpStatusOptimal:
        print("OBJECTIVE_VALUE:", pulp.value(problem.objective))


main()
""",
}
