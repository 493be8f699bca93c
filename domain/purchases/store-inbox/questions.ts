import type { Db } from '../../../store/connect.ts'

/** The number of a fetch from a store, taken before the request is sent: of two answers of the same second, the one that was requested later counts. */
export async function nextQuestion(db: Db): Promise<number> {
  const { rows } = await db.query<{ number: number }>({ name: 'next-store-question', text: `select nextval('store_questions') as number` })
  return Number(rows[0]!.number)
}
