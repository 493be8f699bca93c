-- online
-- The trace in which the row was written, while the service sends traces: the header `traceparent`, and the time of it in Unix seconds; 0 where what
-- comes of the row is only linked to that trace. It says where the work of the row goes on in another process. No statement looks for it.
alter table events add column if not exists trace_context text collate "C";
alter table automation_runs add column if not exists trace_context text collate "C";
alter table deliveries add column if not exists trace_context text collate "C";
alter table runs add column if not exists trace_context text collate "C";
