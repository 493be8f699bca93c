import { findPublished, findPublishedFor, listPublished, type PublishedScreen } from '../../domain/growth/screens/published.ts'
import type { components } from '../../schemas/generated/v3/api.ts'
import { notFoundV3 } from './errors.ts'
import { atKey } from './operation.ts'

type Variable = components['schemas']['ScreenVariable']

const KINDS = new Set<unknown>(['custom', 'product', 'selected_product'])
const TYPES = new Set<unknown>(['boolean', 'string', 'number'])
const EMPTY_DOCUMENT = '<!DOCTYPE html><html><head></head><body></body></html>'

/** Layouts are opaque to the service: an entry of another shape is none. */
function variable(entry: unknown): Variable[] {
  const { kind, key, type, value } = (entry ?? {}) as Partial<Variable>
  if (!KINDS.has(kind) || typeof key !== 'string' || !TYPES.has(type) || !TYPES.has(typeof value)) return []
  return [{ kind, key, type, value } as Variable]
}

const screen = ({ id, context_key, content: { html, variables } }: PublishedScreen) => ({
  id,
  context_key: context_key ?? '',
  body: typeof html === 'string' && html !== '' ? html : EMPTY_DOCUMENT,
  variables: Array.isArray(variables) ? variables.flatMap(variable) : [],
})

function found(row: PublishedScreen | undefined) {
  if (!row) throw notFoundV3('Screen not found')
  return screen(row)
}

export const v3ListContextScreens = atKey('v3ListContextScreens', async ({ path, environment, db }) => [
  found(path.context_key === '' ? undefined : await findPublishedFor(db, environment, path.context_key)),
])

export const v3GetScreen = atKey('v3GetScreen', async ({ path, environment, db }) =>
  found(await findPublished(db, environment, path.screen_id)),
)

export const v3ListScreens = atKey('v3ListScreens', async ({ environment, db }) => (await listPublished(db, environment)).map(screen))
