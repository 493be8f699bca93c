import { isCurrency } from '../../events/money.ts'
import type { ReportedPeriod, ReportedRenewal, Statement, StoreReport } from './statement.ts'

/**
 * A report of a store cannot be right, or cannot be recorded. No repeat helps. The message names fields, and quotes only short words of the
 * report.
 */
export class NotCredible extends Error {}

/** No store sells for longer. A time beyond it stands for "for ever" or is a mistake, and would give access for as long. */
const MOST_AHEAD_MS = 3_653 * 86_400_000

type Reported = ReportedPeriod & ReportedRenewal

const TEXTS = ['product', 'basePlan', 'currency', 'price', 'country', 'proceedsShare', 'nextProduct', 'renewalPrice'] as const
const TIMES = ['begins', 'ends', 'retrySince', 'graceUntil', 'graceOverAt'] as const

/** A word of a store as it can be shown. */
const shown = (word: string): string => JSON.stringify(word.slice(0, 40))

function requireText(name: string, value: unknown): void {
  if (value === undefined || value === null) return
  if (typeof value !== 'string') throw new NotCredible(`the ${name} is no text`)
  // Postgres takes neither, and would refuse the same statement at each repeat.
  if (value.includes('\0')) throw new NotCredible(`the ${name} contains a NUL character`)
  if (!value.isWellFormed()) throw new NotCredible(`the ${name} contains half of a surrogate pair`)
}

/** Throws `NotCredible` for a time in ms that is none or lies too far ahead. `now`: real time in ms. */
export function requireTime(name: string, ms: number, now: number): void {
  if (Number.isNaN(ms)) throw new NotCredible(`the time of ${name} is none`)
  if (ms > now + MOST_AHEAD_MS) throw new NotCredible(`the time of ${name} lies more than ten years ahead`)
}

function requireReported(reported: Reported, now: number): void {
  for (const name of TEXTS) requireText(name, reported[name])
  if (reported.currency !== undefined && !isCurrency(reported.currency))
    throw new NotCredible(`the currency ${shown(reported.currency)} is not known`)
  for (const name of TIMES) if (reported[name] != null) requireTime(name, Date.parse(reported[name]), now)
  if (reported.refund) requireTime('refund', Date.parse(reported.refund.at), now)
}

function requireStatement(statement: Statement, now: number): void {
  requireText('subject', statement.subject)
  requireTime('the statement', statement.statedAt, now)
  if (statement.kind === 'period') for (const [name, id] of Object.entries(statement.ids)) requireText(`${name} id`, id)
  else requireText('token', statement.token)
  requireReported(statement.reported, now)
}

/** Throws `NotCredible` for a report that must not be recorded. `now`: real time in ms. */
export function requireCredible({ lineage, aliases, accountId, statements, notices }: StoreReport, now: number): void {
  for (const name of [lineage, ...aliases]) requireText('name of the lineage', name)
  requireText('account', accountId)
  for (const { id, subject, at } of notices) {
    requireText('id of the notification', id)
    requireText('subject', subject)
    requireTime('the notification', at, now)
  }
  for (const statement of statements) requireStatement(statement, now)
}
