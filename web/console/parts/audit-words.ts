import type { Actor } from '../../../clients/typescript/src/index.ts'
import { plain, t } from './t.ts'

export const ACTORS: Readonly<Record<Actor['kind'], string>> = {
  operator: 'Person',
  grant: 'Assistant',
  secret_key: 'Secret Key',
  api_key: 'Named key',
  project_key: 'Project Key',
  cli: 'Command line',
  system: 'The service',
}

export const actorOf = ({ kind, id }: Actor): string => {
  if (kind === 'operator') return id ?? t('Person')
  if (id === null) return t(ACTORS[kind])
  return kind === 'secret_key' || kind === 'project_key' ? `${t(ACTORS[kind])} …${id}` : `${t(ACTORS[kind])} ${id}`
}

/** `project_settings` as a person reads it. */
export const thingOf = (resource: string): string => plain(resource).replace(/\bapi\b/i, 'API')

/** `v4UpdateProduct`: `Update product`; commands as they are typed. */
export const deedOf = (operation: string): string => {
  const words = operation.replace(/^(v\d+|sdk)(?=[A-Z])/, '')
  return thingOf(words === operation ? operation : words.replaceAll(/(?!^)([A-Z])/g, letter => ` ${letter.toLowerCase()}`))
}
