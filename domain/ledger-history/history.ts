import type { LedgerKind } from './kinds.ts'

/** SQL expressions over the removed rows in `from`: when each was due, its final outcome, the reason of the outcome. */
type RemovedRows = { kind: LedgerKind; from: string; due: string; outcome: string; reason: string }

/**
 * SQL that adds rows to the counts of the ledger. It is part of the statement that removes these rows, so the ledger counts them
 * further. `due` is cut to whole seconds: a window of the ledger cannot ask more exactly. The counts are written in the order of their
 * key: two statements that remove rows of the same second then wait for each other, and cannot deadlock.
 */
export const addToLedgerHistory = ({ kind, from, due, outcome, reason }: RemovedRows): string => `
  insert into ledger_history (environment, kind, due_at, outcome, reason, count)
  select environment, '${kind}', date_trunc('second', ${due}), ${outcome}, coalesce(${reason}, ''), count(*) from ${from}
  group by 1, 3, 4, 5 order by 1, 3, 4, 5
  on conflict (environment, kind, due_at, outcome, reason) do update set count = ledger_history.count + excluded.count`
