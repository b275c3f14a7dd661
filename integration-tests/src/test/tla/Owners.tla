------------------------------- MODULE Owners -------------------------------
(***************************************************************************)
(* Lock servers that share a log: which of them may append, and when one   *)
(* may keep its memory.  The log is in two stores, a primary and a replica *)
(* that may lag behind; the replica is promoted, the primary starts empty, *)
(* is emptied, or gets earlier data back.  A server may be away (paused or *)
(* cut off) for any time.                                                  *)
(*                                                                         *)
(* A history is a sequence of batches, and a batch is a number that is     *)
(* used once.  Time is not modelled: a claim may end at any moment, and    *)
(* settling means to wait for every server that is there.  A lost log is   *)
(* rewritten in one step.                                                  *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Servers,
          Batches,    \* so many are decided at most
          Claims,     \* so many claims are granted at most
          Faults,     \* so many times something happens to the log
          Off         \* rules not followed

Rules == {"FreshWriter",     \* a claim makes a new identity; a number that the log counts repeats after a loss
          "PastCompared",    \* memory is kept only if the log's history is part of it
          "OwnView",         \* an append is compared with what the log's process did last
          "SeenCompared",    \* a process that saw an owner unknown to the candidate does not give the log back to it
          "Settles",         \* a log that is not whole waits for the candidate with the highest term
          "HeldForgets",     \* a server that hears of another owner drops its memory
          "SameBatch"}       \* a batch without a reply is found stored or sent again, never replaced

ASSUME Off \subseteq Rules
On(rule) == rule \notin Off

VARIABLES head,      \* stored, of each store: owner and position
          content,   \* stored, of each store: the history
          seen,      \* of each store's process: what it did last
          did,       \* of each store's process: the batches that it stored
          primary,   \* the store that servers reach
          instance,  \* identity of the primary's history, another one after each start and promotion
          phase,     \* of each server
          memory,    \* of each server: its history, with the batch that waits for a reply
          pending,   \* of each server: whether the last batch of its memory waits for a reply
          mark,      \* of each server: writer, batches and term of its last claim
          past,      \* of each server: positions whose histories are part of its memory
          confirmed, \* of each server: the position with all of its memory
          sent,      \* of each server: the position with the batch that waits as well
          away,      \* servers that take no step
          told,      \* servers that heard of another owner, and kept their memory
          late,      \* appends on their way whose senders gave them up
          made, claims, faults,
          acked,     \* truth: batches that were acknowledged, and not given to a recovery window
          newest,    \* truth: the writer of the last claim
          at,        \* truth: histories and their positions
          wrong      \* truth: what went wrong in a step
vars == <<head, content, seen, did, primary, instance, phase, memory, pending, mark, past, confirmed, sent, away, told,
          late, made, claims, faults, acked, newest, at, wrong>>
store == <<head, content, seen, did, primary, instance>>
server == <<phase, memory, pending, mark, past, confirmed, sent>>

----------------------------------------------------------------------------
Stores == {"P", "R"}
Zero == <<0, 0>>
NoHead == [w |-> 0, n |-> 0, base |-> Zero, term |-> 0, whole |-> FALSE]
NotSeen == [w |-> 0, n |-> 0, pos |-> Zero, in |-> 0]
Max(a, b) == IF a > b THEN a ELSE b
Range(seq) == {seq[i] : i \in DOMAIN seq}
IsPrefix(a, b) == Len(a) <= Len(b) /\ SubSeq(b, 1, Len(a)) = a

\* A claim alone writes no history.
Pos(h) == IF h.n = 0 THEN h.base ELSE <<h.w, h.n>>
Here == head[primary]
SeenNow == [w |-> Here.w, n |-> Here.n, pos |-> Pos(Here), in |-> instance]
OwnView == seen[primary] = SeenNow
Whole == Here.w /= 0 /\ OwnView /\ (Here.n > 0 \/ Here.whole)

UpTo(p, q) == p[1] = q[1] /\ p[2] <= q[2]
Covers(s, p) == p = Zero \/ \E q \in past[s] \cup {confirmed[s], sent[s]} : UpTo(p, q)
HasMemory(s) == phase[s] \in {"active", "suspended"}

Mine(s) ==
  /\ phase[s] = "suspended"
  /\ On("PastCompared") => Covers(s, Pos(Here))
  /\ On("SeenCompared") =>
       seen[primary] = NotSeen \/ seen[primary].pos = Pos(Here) \/ Covers(s, seen[primary].pos)

\* Every other server that is there, and has memory, has bid a lower term.
Settled(s) == \A t \in Servers \ {s} : t \in away \/ ~HasMemory(t) \/ mark[t].term < mark[s].term

----------------------------------------------------------------------------
Init ==
  /\ head = [x \in Stores |-> NoHead] /\ content = [x \in Stores |-> <<>>]
  /\ seen = [x \in Stores |-> NotSeen] /\ did = [x \in Stores |-> {}]
  /\ primary = "P" /\ instance = 1
  /\ phase = [s \in Servers |-> "standby"] /\ memory = [s \in Servers |-> <<>>]
  /\ pending = [s \in Servers |-> FALSE] /\ mark = [s \in Servers |-> [w |-> 0, n |-> 0, term |-> 0]]
  /\ past = [s \in Servers |-> {}] /\ confirmed = [s \in Servers |-> Zero] /\ sent = [s \in Servers |-> Zero]
  /\ away = {} /\ told = {} /\ late = {} /\ made = 0 /\ claims = 0 /\ faults = 0
  /\ acked = {} /\ newest = 0 /\ at = {} /\ wrong = {}

\* What must not happen when a server goes on with its memory.
GoesOn(s) ==
  LET known == Range(memory[s]) IN
  (IF IsPrefix(content[primary], memory[s]) THEN {} ELSE {"foreign history"})
  \cup (IF (did[primary] \cap acked) \subseteq known THEN {} ELSE {"process forgets"})
  \cup (IF s \in told THEN {"superseded"} ELSE {})
  \cup (IF ~Whole /\ \E t \in Servers \ away : HasMemory(t) /\ ~((acked \cap Range(memory[t])) \subseteq known)
        THEN {"older goes on"} ELSE {})

\* The claim is granted.  If its reply is lost, the server only knows that it has none.
Claim(s, lost) ==
  /\ s \notin away /\ phase[s] \in {"standby", "suspended"} /\ claims < Claims
  /\ lost => phase[s] = "suspended"
  /\ (Here.w /= 0 /\ ~Whole /\ On("Settles")) => Settled(s)
  /\ (Here.w = 0 /\ claims > 0 /\ On("Settles")) => Settled(s)
  /\ claims' = claims + 1
  /\ LET term == 1 + Max(Here.term, mark[s].term)
         w == IF On("FreshWriter") THEN claims + 1 ELSE term
         found == Pos(Here)
         rewrites == Mine(s) /\ ~lost /\ found /= confirmed[s] /\ (found /= sent[s] \/ found = Zero)
         new == [w |-> w, n |-> IF rewrites THEN 1 ELSE 0, base |-> found, term |-> term,
                 whole |-> Whole \/ claims = 0]
         isStored == rewrites \/ (pending[s] /\ found = sent[s] /\ found /= Zero)
     IN /\ head' = [head EXCEPT ![primary] = new]
        /\ seen' = [seen EXCEPT ![primary] = [w |-> w, n |-> new.n, pos |-> Pos(new), in |-> instance]]
        /\ newest' = w
        /\ content' = IF rewrites THEN [content EXCEPT ![primary] = memory[s]] ELSE content
        /\ did' = IF rewrites THEN [did EXCEPT ![primary] = @ \cup Range(memory[s])] ELSE did
        /\ at' = IF rewrites THEN at \cup {<<Pos(new), memory[s]>>} ELSE at
        /\ wrong' = IF Mine(s) /\ ~lost THEN wrong \cup GoesOn(s) ELSE wrong
        /\ acked' = IF Mine(s) /\ ~lost
                    THEN IF pending[s] /\ isStored THEN acked \cup {memory[s][Len(memory[s])]} ELSE acked
                    ELSE IF Whole \/ Mine(s) THEN acked
                    ELSE acked \cap Range(content[primary])   \* The recovery window begins: holders reclaim the others.
        /\ IF lost THEN UNCHANGED server
           ELSE /\ phase' = [phase EXCEPT ![s] = "active"]
                /\ mark' = [mark EXCEPT ![s] = [w |-> w, n |-> new.n, term |-> term]]
                /\ confirmed' = [confirmed EXCEPT ![s] = Pos(new)]
                /\ sent' = [sent EXCEPT ![s] = Zero]
                /\ IF Mine(s)
                   THEN /\ past' = [past EXCEPT ![s] = @ \cup {found, confirmed[s]}]
                        /\ pending' = [pending EXCEPT ![s] = @ /\ ~isStored]
                        /\ UNCHANGED memory
                   ELSE /\ past' = [past EXCEPT ![s] = {found}]
                        /\ pending' = [pending EXCEPT ![s] = FALSE]
                        /\ memory' = [memory EXCEPT ![s] = content[primary]]
  /\ told' = IF lost \/ Mine(s) THEN told ELSE told \ {s}
  /\ UNCHANGED <<primary, instance, away, late, made, faults>>

\* Another server owns the log.
Held(s) ==
  /\ s \notin away /\ phase[s] = "suspended" /\ ~Mine(s) /\ Here.w /= 0 /\ Whole
  /\ IF On("HeldForgets")
     THEN /\ phase' = [phase EXCEPT ![s] = "standby"]
          /\ memory' = [memory EXCEPT ![s] = <<>>] /\ pending' = [pending EXCEPT ![s] = FALSE]
          /\ past' = [past EXCEPT ![s] = {}]
          /\ confirmed' = [confirmed EXCEPT ![s] = Zero] /\ sent' = [sent EXCEPT ![s] = Zero]
          /\ UNCHANGED <<mark, told>>
     ELSE told' = told \cup {s} /\ UNCHANGED server
  /\ UNCHANGED <<store, away, late, made, claims, faults, acked, newest, at, wrong>>

Decide(s) ==
  /\ s \notin away /\ phase[s] = "active" /\ ~pending[s] /\ made < Batches
  /\ made' = made + 1
  /\ memory' = [memory EXCEPT ![s] = Append(@, made + 1)]
  /\ pending' = [pending EXCEPT ![s] = TRUE]
  /\ UNCHANGED <<store, phase, mark, past, confirmed, sent, away, told, late, claims, faults, acked, newest, at, wrong>>

\* The log's side of an append.
Fits(w, n) == Here.w = w /\ Here.n = n - 1 /\ w /= 0 /\ (On("OwnView") => OwnView)
Store(w, n, batch) ==
  LET new == [Here EXCEPT !.n = n]
      history == Append(content[primary], batch)
  IN /\ head' = [head EXCEPT ![primary] = new]
     /\ content' = [content EXCEPT ![primary] = history]
     /\ seen' = [seen EXCEPT ![primary] = [w |-> w, n |-> n, pos |-> <<w, n>>, in |-> instance]]
     /\ did' = [did EXCEPT ![primary] = @ \cup {batch}]
     /\ at' = at \cup {<<<<w, n>>, history>>}
     /\ wrong' = IF w = newest THEN wrong ELSE wrong \cup {"older writer"}

\* A batch is sent: stored and acknowledged, stored with its reply lost, refused, lost, or late.
Send(s, fate) ==
  /\ s \notin away /\ phase[s] = "active" /\ pending[s]
  /\ LET batch == memory[s][Len(memory[s])]
         w == mark[s].w
         n == mark[s].n + 1
         stored == fate \in {"acknowledged", "reply lost"} /\ Fits(w, n)
     IN /\ fate = "acknowledged" => stored
        /\ fate = "reply lost" => stored
        /\ fate = "lost" => late = {}
        /\ IF stored THEN Store(w, n, batch) ELSE UNCHANGED <<head, content, seen, did, at, wrong>>
        /\ late' = IF fate = "lost" THEN {<<w, n, batch>>} ELSE late
        /\ IF fate = "acknowledged"
           THEN /\ acked' = acked \cup {batch}
                /\ mark' = [mark EXCEPT ![s].n = n]
                /\ past' = [past EXCEPT ![s] = @ \cup {confirmed[s]}]
                /\ confirmed' = [confirmed EXCEPT ![s] = <<w, n>>]
                /\ sent' = [sent EXCEPT ![s] = Zero]
                /\ pending' = [pending EXCEPT ![s] = FALSE]
                /\ UNCHANGED <<phase, memory>>
           ELSE /\ UNCHANGED <<acked, mark, past, confirmed>>
                /\ sent' = [sent EXCEPT ![s] = <<w, n>>]
                /\ IF On("SameBatch") \/ fate /= "reply lost" \/ made = Batches
                   THEN /\ phase' = [phase EXCEPT ![s] = "suspended"]
                        /\ UNCHANGED <<memory, pending>>
                   ELSE \* Taken for not stored: the next batch has its number.
                        /\ memory' = [memory EXCEPT ![s] = SubSeq(@, 1, Len(@) - 1)]
                        /\ pending' = [pending EXCEPT ![s] = FALSE]
                        /\ UNCHANGED phase
  /\ UNCHANGED <<primary, instance, away, told, made, claims, faults, newest>>

Arrives ==
  /\ \E m \in late : IF Fits(m[1], m[2]) THEN Store(m[1], m[2], m[3]) ELSE UNCHANGED <<head, content, seen, did, at, wrong>>
  /\ late' = {}
  /\ UNCHANGED <<primary, instance, server, away, told, made, claims, faults, acked, newest>>

\* A reconnect, or a silence.
Suspend(s) ==
  /\ s \notin away /\ phase[s] = "active" /\ ~pending[s]
  /\ phase' = [phase EXCEPT ![s] = "suspended"]
  /\ UNCHANGED <<store, memory, pending, mark, past, confirmed, sent, away, told, late, made, claims, faults, acked,
                 newest, at, wrong>>

\* A server that takes no step is away all the time; it only makes a difference to a log that settles.
Leave(s) ==
  /\ s \notin away /\ HasMemory(s) /\ ~Whole /\ away' = away \cup {s}
  /\ UNCHANGED <<store, server, told, late, made, claims, faults, acked, newest, at, wrong>>
Return(s) ==
  /\ s \in away /\ away' = away \ {s}
  /\ UNCHANGED <<store, server, told, late, made, claims, faults, acked, newest, at, wrong>>

----------------------------------------------------------------------------
Other == CHOOSE x \in Stores : x /= primary

Replicate ==
  /\ head[Other] /= Here
  /\ head' = [head EXCEPT ![Other] = Here] /\ content' = [content EXCEPT ![Other] = content[primary]]
  /\ UNCHANGED <<seen, did, primary, instance, server, away, told, late, made, claims, faults, acked, newest, at, wrong>>

\* The replica is promoted, with what it has; its process remembers what it did before.
Promote ==
  /\ faults < Faults /\ faults' = faults + 1
  /\ primary' = Other /\ instance' = instance + 1
  /\ UNCHANGED <<head, content, seen, did, server, away, told, late, made, claims, acked, newest, at, wrong>>

\* FLUSHALL, or a start without data.
Empty(starts) ==
  /\ faults < Faults /\ faults' = faults + 1
  /\ head' = [head EXCEPT ![primary] = NoHead] /\ content' = [content EXCEPT ![primary] = <<>>]
  /\ IF starts
     THEN /\ seen' = [seen EXCEPT ![primary] = NotSeen] /\ did' = [did EXCEPT ![primary] = {}]
          /\ instance' = instance + 1
     ELSE UNCHANGED <<seen, did, instance>>
  /\ UNCHANGED <<primary, server, away, told, late, made, claims, acked, newest, at, wrong>>

\* Earlier data come back under the same process.
Restore ==
  /\ faults < Faults /\ faults' = faults + 1 /\ head[Other] /= Here
  /\ head' = [head EXCEPT ![primary] = head[Other]] /\ content' = [content EXCEPT ![primary] = content[Other]]
  /\ UNCHANGED <<seen, did, primary, instance, server, away, told, late, made, claims, acked, newest, at, wrong>>

Next ==
  \/ \E s \in Servers :
       \/ \E lost \in BOOLEAN : Claim(s, lost)
       \/ Held(s) \/ Decide(s) \/ Suspend(s) \/ Leave(s) \/ Return(s)
       \/ \E fate \in {"acknowledged", "reply lost", "refused", "lost"} : Send(s, fate)
  \/ Arrives \/ Replicate \/ Promote \/ Restore
  \/ \E starts \in BOOLEAN : Empty(starts)

Spec == Init /\ [][Next]_vars
Symmetry == Permutations(Servers)

----------------------------------------------------------------------------
\* Two histories never share a position.
OneHistory == \A a, b \in at : a[1] = b[1] => a[2] = b[2]

\* What was acknowledged was stored.
StoredIsAcknowledged == \A b \in acked : \E a \in at : b \in Range(a[2])

\* After a claim no batch of an older writer is stored.
NoOlderWriter == "older writer" \notin wrong

\* Memory is never written over a history that is not its own.
OwnHistoryOnly == "foreign history" \notin wrong

\* A process that stored a batch does not give the log to memory without it.
ProcessRemembers == "process forgets" \notin wrong

\* A server that was told that it is superseded does not go on.
SupersededStaysSo == "superseded" \notin wrong

\* After a loss no memory goes on without batches that were acknowledged by another server that is there.
NewestGoesOn == "older goes on" \notin wrong
=============================================================================
