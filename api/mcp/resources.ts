import { readFileSync } from 'node:fs'
import { ResourceNotFoundError, type Server } from '@modelcontextprotocol/server'
import { CATALOGUE } from '../../domain/events/catalogue.ts'

type Described = { description?: string }
type Operation = { operationId: string; summary: string; tags: string[] } & Described
type Description = {
  info: Described
  tags: ({ name: string } & Described)[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Described & { properties?: Record<string, Described>; enum?: string[] }> }
}

let kept: Description | undefined
/** The description of the API, read when somebody asks for it. */
function description(): Description {
  kept ??= JSON.parse(readFileSync(new URL('../../schemas/generated/openapi.json', import.meta.url), 'utf8')) as Description
  return kept
}

/** The operations by their tags, in Markdown. */
function reference(): string {
  const { info, tags, paths } = description()
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => (operation.operationId ? [{ path, method, operation }] : [])),
  )
  const sections = tags.flatMap(({ name, description: text = '' }) => [
    `## ${name}\n\n${text}`,
    ...operations
      .filter(({ operation }) => operation.tags[0] === name)
      .map(
        ({ path, method, operation }) =>
          `### ${operation.summary}\n\n\`${method.toUpperCase()} ${path}\` (${operation.operationId})\n\n${operation.description ?? ''}`,
      ),
  ])
  return [`# API reference\n\n${info.description ?? ''}`, ...sections].join('\n\n')
}

/** The language of conditions, in Markdown. */
function language(): string {
  const { ConditionInput, Comparator } = description().components.schemas
  const fields = Object.entries(ConditionInput?.properties ?? {}).map(([name, field]) => `## ${name}\n\n${field.description ?? ''}`)
  const comparators = (Comparator?.enum ?? []).map(one => `\`${one}\``).join(', ')
  return [
    `# Conditions of segments\n\n${ConditionInput?.description ?? ''}`,
    ...fields,
    `## Comparators\n\n${comparators}\n\n${Comparator?.description ?? ''}`,
  ].join('\n\n')
}

type Resource = { uri: string; name: string; title: string; description: string; mimeType: string; text: () => string }

const RESOURCES: readonly Resource[] = [
  {
    uri: 'perennial://reference',
    name: 'reference',
    title: 'API reference',
    description: 'Every operation with its rules.',
    mimeType: 'text/markdown',
    text: reference,
  },
  {
    uri: 'perennial://events/catalogue',
    name: 'event_catalogue',
    title: 'Event catalogue',
    description: 'The events of the service: uid, slug, title, and whether they carry money.',
    mimeType: 'application/json',
    text: () => JSON.stringify(CATALOGUE.map(({ uid, slug, title, value, refund }) => ({ uid, slug, title, value, refund }))),
  },
  {
    uri: 'perennial://segments/language',
    name: 'segment_language',
    title: 'Language of segments',
    description: 'Metrics, comparators and rules of conditions.',
    mimeType: 'text/markdown',
    text: language,
  },
]

export function addResources(server: Server): void {
  server.setRequestHandler('resources/list', () => ({ resources: RESOURCES.map(({ text, ...shown }) => shown) }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const resource = RESOURCES.find(one => one.uri === uri)
    if (!resource) throw new ResourceNotFoundError(uri)
    return { contents: [{ uri, mimeType: resource.mimeType, text: resource.text() }] }
  })
}
