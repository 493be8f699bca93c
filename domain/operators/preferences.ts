import type { Db } from '../../store/connect.ts'

/** What an operator has chosen in the console. What is missing has its default there. */
export type Preferences = {
  zone?: string
  theme?: 'light' | 'dark' | 'auto'
  density?: 'normal' | 'compact'
  first_weekday?: number
  pins?: string[]
}

export async function preferencesOf(db: Db, operator: string): Promise<Preferences> {
  const { rows } = await db.query<{ preferences: Preferences }>({
    name: 'preferences-of-operator',
    text: 'select preferences from operators where id = $1',
    values: [operator],
  })
  return rows[0]?.preferences ?? {}
}

/** Sets what is given and removes what is null, in one statement: two tabs that change different things keep both. */
export async function changePreferences(
  db: Db,
  operator: string,
  change: { [Name in keyof Preferences]?: Preferences[Name] | null },
): Promise<Preferences> {
  const { rows } = await db.query<{ preferences: Preferences }>(
    `update operators set preferences = jsonb_strip_nulls(preferences || $2::jsonb) where id = $1 returning preferences`,
    [operator, JSON.stringify(change)],
  )
  return rows[0]?.preferences ?? {}
}
