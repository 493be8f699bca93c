import type { IntegrationConfig, IntegrationsMeta } from '../../../../clients/typescript/src/index.ts'
import { plain } from '../../parts/t.ts'

export type Provider = IntegrationsMeta['data'][number]['items'][number]
export type Setting = Provider['settings'][number]

/** Settings as one types them: a list has an address on each line. Secrets are empty, unless one types another. */
export type Form = Record<string, string | boolean>

export const labelOf = ({ name }: Setting): string =>
  plain(name)
    .replace(/\b(url|id|api|guid|sdk|fcm|s2s)\b/gi, word => word.toUpperCase())
    .replace('Url', 'URL')

const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.join('\n') : value === null || value === undefined ? '' : String(value)

export const formOf = ({ settings }: IntegrationConfig, known: readonly Setting[]): Form =>
  Object.fromEntries(
    known
      .filter(({ secret }) => !secret)
      .map(({ name, type }) => [name, type === 'boolean' ? settings[name] === true : textOf(settings[name])]),
  )

/** The settings to send: of secrets only those that were typed, or are taken away. */
export function settingsOf(
  form: Form,
  known: readonly Setting[],
  secrets: Readonly<Record<string, string | null>>,
): Record<string, unknown> {
  const plainOnes = known.filter(({ secret }) => !secret).map(({ name, type }) => [name, settingOf(form[name], type)])
  const given = Object.entries(secrets).filter(([, value]) => value === null || value !== '')
  return Object.fromEntries([...plainOnes, ...given])
}

function settingOf(typed: string | boolean | undefined, type: Setting['type']): unknown {
  if (typeof typed !== 'string') return typed ?? null
  const text = typed.trim()
  if (text === '') return null
  if (type === 'port') return Number(text)
  if (type === 'emails') return text.split(/[\s,;]+/)
  return text
}
