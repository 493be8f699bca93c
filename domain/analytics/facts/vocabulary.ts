import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

/** The numbers of the texts that have one already. */
export async function findVocabulary(tx: Tx, environment: Environment, texts: string[]): Promise<Map<string, number>> {
  if (texts.length === 0) return new Map()
  const { rows } = await tx.query<{ word: string; no: number }>({
    name: 'find-words',
    text: `select w.word, w.no from unnest($2::text[]) k(word)
           cross join lateral (select word, no from fact_words where environment = $1 and word = k.word limit 1) w`,
    values: [environment, texts],
  })
  return new Map(rows.map(({ word, no }) => [word, no]))
}

/** Assigns numbers to texts. The state of the facts is locked, so no other transaction assigns numbers in this environment. */
export async function addVocabulary(tx: Tx, environment: Environment, seq: number, texts: string[]): Promise<Map<string, number>> {
  if (texts.length === 0) return new Map()
  const { rows } = await tx.query<{ word: string; no: number }>({
    name: 'add-words',
    text: `insert into fact_words (environment, word, seq) select $1, word, $2 from unnest($3::text[]) k(word) returning word, no`,
    values: [environment, seq, texts],
  })
  return new Map(rows.map(({ word, no }) => [word, no]))
}
