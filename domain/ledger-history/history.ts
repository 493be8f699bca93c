import type { LedgerKind } from './kinds.ts'

/** Expressions over the rows that go: when each was due, what it came to and why. */
export type Gone = { kind: LedgerKind; from: string; due: string; outcome: string; reason: string }

/**
 * Part of the statement that removes rows: they still count. Whole seconds are as exact as a window can ask. In the order of the key,
 * so that two that remove rows of the same second wait for each other and never in a circle.
 */
export const remember = ({ kind, from, due, outcome, reason }: Gone): string => `
  insert into ledger_history (environment, kind, due_at, outcome, reason, count)
  select environment, '${kind}', date_trunc('second', ${due}), ${outcome}, coalesce(${reason}, ''), count(*) from ${from}
  group by 1, 3, 4, 5 order by 1, 3, 4, 5
  on conflict (environment, kind, due_at, outcome, reason) do update set count = ledger_history.count + excluded.count`
