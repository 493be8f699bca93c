-- A webhook step is written when its delivery is created and again when the run has read the delivery's end. At 80 % the second version found no
-- room on its page in two of three updates, and went with an index entry of its own to another one.
alter table automation_steps set (fillfactor = 50);
