import { readFileSync } from 'node:fs'
import { heard, type Statement, seconds } from '../oracle/heard.ts'
import type { History, Product, Rate } from '../oracle/history.ts'

const read = (name: string) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))

export type Line = { label: string; total: number; totalPrev: number; data: number[] }

type Life = { now: string; products: Product[]; rates: Rate[]; users: { id: string; createdAt: string }[]; statements: Statement[] }

/** The life of three people, written by hand. */
export const life: Life = read('life.json')

/** What the charts show of it, calculated by hand: see README.md. */
export const expected: { question: { from: string; to: string; unit: 'month'; currency: string }; charts: Record<string, Line[]> } =
  read('charts.json')

export function historyOfLife(): History {
  const heardAt = seconds(life.now)
  const arrivals = heard(life.statements.map(statement => ({ statement, heardAt })))
  return {
    now: heardAt,
    products: life.products,
    rates: life.rates,
    users: life.users.map(user => ({ id: user.id, createdAt: seconds(user.createdAt) })),
    arrivals,
    occurrences: arrivals.filter(arrival => arrival.is === 'event').map(({ user, happenedAt }) => ({ user, happenedAt })),
    segments: {},
    experimentGroups: {},
  }
}
