------------------------------ MODULE FenceRow ------------------------------
(***************************************************************************)
(* The fence in the storage transaction: one row holds the mark of a       *)
(* resource; every guarded transaction begins by comparing and raising it, *)
(* and mark and data are committed together.                               *)
(*                                                                         *)
(* The database is READ COMMITTED: a statement waits for a row that others *)
(* have locked and then looks at its newest committed version; a reader    *)
(* can lock a row together with other readers.  A resource's first use     *)
(* inserts the row raised; an insert, like an update, keeps everybody else *)
(* from the row until its transaction ends, so the row is here from the    *)
(* start, with no mark.  No time occurs here, and no process can crash in  *)
(* a way that is not a rollback.                                           *)
(*                                                                         *)
(* A step that waits is one that is not possible yet.  TLC tries all       *)
(* orders of all steps for every choice of Calls out of Grants.            *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Calls,  \* so many transactions, each under one of the grants
          Ids,    \* of the grants to choose from
          Off     \* rules not followed

Rules == {"SameTransaction", \* check and data are one transaction
          "LookAgain",       \* who waited for the row compares with what it finds then, not with what it saw before
          "LockForShare",    \* a SHARED reader locks the row even if it need not raise it
          "ReadsRaise",      \* a SHARED reader makes sure that the mark is at least its own token
          "Confirm",         \* the mark is asked for again right before the commit
          "ConfirmCount"}    \* and nobody has raised it since the check, not even the same grant
ASSUME Off \subseteq Rules /\ Ids \subseteq {"a", "r", "b", "c", "s"} /\ Ids /= {}
On(rule) == rule \notin Off

\* Tokens are not unique here, only (token, id) is.
AllGrants == {[id |-> "a", token |-> 1, mode |-> "EXCLUSIVE"],
              [id |-> "r", token |-> 1, mode |-> "SHARED"],
              [id |-> "b", token |-> 2, mode |-> "EXCLUSIVE"],
              [id |-> "c", token |-> 2, mode |-> "EXCLUSIVE"],
              [id |-> "s", token |-> 2, mode |-> "SHARED"]}
Grants == {g \in AllGrants : g.id \in Ids}

VARIABLES grant,    \* of each call; chosen at the start
          status,   \* of each call: begun, raising, open, committed, over
          saw,      \* of each call: the row when it began to wait for it (kept only where it matters)
          count,    \* of each call: how often the row had been raised after its check
          row,      \* the committed mark, and n: how often it was raised
          raised,   \* of each call that changed the row: what it will be after the commit
          lock,     \* of each call: "no", "share" (with other readers) or "row" (alone)
          log       \* reads, when they were made, and commits, with or without a write
vars == <<grant, status, saw, count, row, raised, lock, log>>

----------------------------------------------------------------------------
None == [x |-> 0, id |-> "-", s |-> 0, n |-> 0]

Admits(mark, g) ==
  IF g.mode = "SHARED" THEN g.token > mark.x
  ELSE g.token > mark.s /\ (g.token > mark.x \/ (g.token = mark.x /\ g.id = mark.id))

Raise(mark, g) ==
  IF g.mode = "EXCLUSIVE" THEN [mark EXCEPT !.x = g.token, !.id = g.id, !.n = @ + 1]
  ELSE [mark EXCEPT !.s = IF g.token > @ THEN g.token ELSE @, !.n = @ + 1]

\* Whether a mark is one that the grant's own raise left, and nothing newer came.
Stands(mark, g) ==
  IF g.mode = "SHARED" THEN g.token > mark.x /\ (g.token <= mark.s \/ ~On("ReadsRaise"))
  ELSE g.token > mark.s /\ mark.x = g.token /\ mark.id = g.id

Free(c, locks) == \A d \in Calls \ {c} : lock[d] \notin locks

Init ==
  /\ grant \in [Calls -> Grants]
  /\ status = [c \in Calls |-> "begun"]
  /\ lock = [c \in Calls |-> "no"]
  /\ saw = [c \in Calls |-> None] /\ raised = [c \in Calls |-> None] /\ count = [c \in Calls |-> 0]
  /\ row = None /\ log = <<>>

\* UPDATE ... WHERE the mark admits the call.  No row updated: refused.
Old(c) == grant[c].mode = "EXCLUSIVE" /\ ~On("LookAgain")

Update(c) ==
  IF Old(c) /\ status[c] = "begun"
  THEN \* The bug: it remembers what it saw before it waits.
    /\ saw' = [saw EXCEPT ![c] = row]
    /\ status' = [status EXCEPT ![c] = "raising"]
    /\ UNCHANGED <<grant, count, row, raised, lock, log>>
  ELSE
    LET mark == IF Old(c) THEN saw[c] ELSE row
        new == Raise(mark, grant[c])
    IN /\ status[c] = IF grant[c].mode = "EXCLUSIVE" /\ ~Old(c) THEN "begun" ELSE "raising"
       /\ Free(c, {"row", "share"})
       /\ IF ~Admits(mark, grant[c])
          THEN status' = [status EXCEPT ![c] = "over"] /\ UNCHANGED <<count, row, raised, lock>>
          ELSE /\ status' = [status EXCEPT ![c] = "open"]
               /\ count' = [count EXCEPT ![c] = new.n]
               /\ IF On("SameTransaction")
                  THEN raised' = [raised EXCEPT ![c] = new] /\ lock' = [lock EXCEPT ![c] = "row"] /\ UNCHANGED row
                  ELSE row' = new /\ UNCHANGED <<raised, lock>>
       /\ UNCHANGED <<grant, saw, log>>

\* SELECT ... WHERE the mark need not be raised FOR SHARE.  Nothing found: raise it, if it admits the call then.
SelectForShare(c) ==
  /\ status[c] = "begun" /\ grant[c].mode = "SHARED"
  /\ On("LockForShare") => Free(c, {"row"})
  /\ status' = [status EXCEPT ![c] = IF Stands(row, grant[c]) THEN "open" ELSE "raising"]
  /\ lock' = [lock EXCEPT ![c] = IF Stands(row, grant[c]) /\ On("LockForShare") THEN "share" ELSE "no"]
  /\ count' = [count EXCEPT ![c] = IF Stands(row, grant[c]) THEN row.n ELSE 0]
  /\ UNCHANGED <<grant, saw, row, raised, log>>

Read(c) ==
  /\ status[c] = "open"
  /\ \A i \in DOMAIN log : log[i].call /= c \* once is enough
  /\ log' = Append(log, [call |-> c, what |-> "read"])
  /\ UNCHANGED <<grant, status, saw, count, row, raised, lock>>

\* The transaction is rolled back to a savepoint older than the check, unnoticed: lock and raise are gone, it goes on.
Undo(c) ==
  /\ status[c] = "open" /\ lock[c] /= "no"
  /\ lock' = [lock EXCEPT ![c] = "no"]
  /\ raised' = [raised EXCEPT ![c] = None]
  /\ UNCHANGED <<grant, status, saw, count, row, log>>

\* With a lock of its own the mark is as the check left it.  Without, the confirming SELECT locks the row and looks.
Confirmed(c) ==
  \/ lock[c] /= "no"
  \/ /\ Free(c, IF grant[c].mode = "SHARED" THEN {"row"} ELSE {"row", "share"})
     /\ Stands(row, grant[c])
     /\ On("ConfirmCount") => row.n = count[c]
  \/ ~On("Confirm")

Commit(c, what) ==
  /\ status[c] = "open" /\ Confirmed(c)
  /\ what = "write" => grant[c].mode = "EXCLUSIVE"
  /\ log' = Append(log, [call |-> c, what |-> what])
  /\ row' = IF raised[c] = None THEN row ELSE raised[c]
  /\ status' = [status EXCEPT ![c] = "committed"]
  /\ lock' = [lock EXCEPT ![c] = "no"] /\ raised' = [raised EXCEPT ![c] = None]
  /\ saw' = [saw EXCEPT ![c] = None] /\ count' = [count EXCEPT ![c] = 0]
  /\ UNCHANGED grant

\* By the caller, a deadlock, a lost connection, the database's crash: the mark falls back with the data.
Rollback(c) ==
  /\ status[c] \in {"raising", "open"}
  /\ status' = [status EXCEPT ![c] = "over"]
  /\ lock' = [lock EXCEPT ![c] = "no"] /\ raised' = [raised EXCEPT ![c] = None]
  /\ saw' = [saw EXCEPT ![c] = None] /\ count' = [count EXCEPT ![c] = 0]
  /\ UNCHANGED <<grant, row, log>>

Next == \E c \in Calls :
  \/ Update(c) \/ SelectForShare(c) \/ Read(c) \/ Undo(c) \/ Rollback(c)
  \/ \E what \in {"write", "end"} : Commit(c, what)

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Calls)

----------------------------------------------------------------------------
By(i) == grant[log[i].call]
Fits(i, j) == By(i) = By(j) \/ By(i).token < By(j).token

\* P6: tokens of committed writes never fall, and equal tokens are of one grant.
WritesRise ==
  \A i, j \in DOMAIN log : i < j /\ log[i].what = "write" /\ log[j].what = "write" => Fits(i, j)

\* P7: after a read under t, in a transaction that was committed, no other grant's write with a token up to t is.
ReadsHold ==
  \A i, j \in DOMAIN log :
    i < j /\ log[i].what = "read" /\ log[j].what = "write" /\ status[log[i].call] = "committed" => Fits(i, j)

\* Too much to ask: a read counts as soon as it was made.  A rollback takes the mark back.
ReadsHoldAtOnce ==
  \A i, j \in DOMAIN log : i < j /\ log[i].what = "read" /\ log[j].what = "write" => Fits(i, j)

\* Nobody else's write is committed between what a call read and its own commit.
NothingBetween ==
  \A i, j, k \in DOMAIN log :
    i < j /\ j < k /\ log[i].call = log[k].call /\ log[j].what = "write" => By(i) = By(j)

\* P12: a mark never refuses less than the data already there calls for; with WritesRise it never falls.
MarkCoversWrites ==
  \A i \in DOMAIN log : log[i].what = "write" => row.x > By(i).token \/ (row.x = By(i).token /\ row.id = By(i).id)

\* Not wanted: readers do run together.
NoReadersTogether == \A c, d \in Calls : c = d \/ lock[c] /= "share" \/ lock[d] /= "share"
=============================================================================
