-- Who creates or suspends deliveries depends on the state of their integration, and locks its row `for key share`. Whoever changes the state waits for
-- them, whatever lock a program has taken first: an older one that goes on beside this version, too.
create function await_dependents() returns trigger language plpgsql as $$
begin
  perform 1 from integrations where number = old.number for update;
  return new;
end $$;
create trigger integration_state before update on integrations for each row
  when ((old.active, old.held_since, old.deleted_at, old.from_offsets, old.events, old.event_mapping)
    is distinct from (new.active, new.held_since, new.deleted_at, new.from_offsets, new.events, new.event_mapping))
  execute function await_dependents();
