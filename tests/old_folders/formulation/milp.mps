* oragent model "pharmacy"
NAME        
ROWS
 N  Obj     
 L  morphine
 G  painkillers_least
 G  share   
COLUMNS
    MARK0000  'MARKER'                 'INTORG'
    painkillers  Obj       3
    painkillers  morphine  10
    painkillers  painkillers_least  1
    painkillers  share     -0.69999999999999996
    sleeping_pills  Obj       5
    sleeping_pills  morphine  6
    sleeping_pills  share     0.30000000000000004
    MARK0001  'MARKER'                 'INTEND'
RHS
    RHS_V     morphine  3000
    RHS_V     painkillers_least  50
BOUNDS
 LI BOUND     painkillers  0
 LI BOUND     sleeping_pills  0
ENDATA
