import { readFileSync } from 'node:fs'
import type { Principal } from '../../domain/operators/principal.ts'
import { permits } from '../../domain/projects/authority.ts'
import type { DescribedTool, ListedTool } from '../../schemas/tool.ts'
import { invalidData } from '../errors.ts'
import type { Route } from '../operation.ts'
import { routes } from '../routes.ts'

export type Tool = DescribedTool & { route: Route; resource: string; isRead: boolean }

/** All tools by their names, in the order of the description. */
export type Tools = ReadonlyMap<string, Tool>

/** Reads the generated tools; takes some milliseconds. */
export function readTools(): Tools {
  const described: DescribedTool[] = JSON.parse(readFileSync(new URL('../../schemas/generated/tools.json', import.meta.url), 'utf8'))
  const routeOf = new Map(routes.map(route => [route.description.id as string, route]))
  return new Map(
    described.map(tool => {
      const [resource = '', access] = tool.scope.split(':')
      return [tool.listed.name, { ...tool, route: routeOf.get(tool.id)!, resource, isRead: access === 'read' }]
    }),
  )
}

/** What the address of a client chooses. `find`: three tools by which the others are found and called. */
export type Selection = { resources: ReadonlySet<string> | null; readOnly: boolean; find: boolean }

const KNOWN = new Set(['toolsets', 'read_only', 'tools'])

/** Reads `?toolsets=`, `?read_only=` and `?tools=`; `findsTools`: what the operator has chosen. Throws `invalid_data` for anything else. */
export function selectionIn(search: URLSearchParams, tools: Tools, findsTools: boolean): Selection {
  if (search.size === 0) return { resources: null, readOnly: false, find: findsTools }
  const names = new Set([...tools.values()].map(({ resource }) => resource))
  const faults: { field: string; message: string }[] = []
  for (const name of new Set(search.keys())) {
    if (!KNOWN.has(name)) faults.push({ field: name, message: 'is not known' })
    else if (search.getAll(name).length > 1) faults.push({ field: name, message: 'is given more than once' })
  }
  const toolsets = search.get('toolsets')?.split(',') ?? null
  const unknown = toolsets?.filter(name => !names.has(name)) ?? []
  if (unknown.length > 0) faults.push({ field: 'toolsets', message: `must be names of ${[...names].join(', ')}, separated by commas` })
  const readOnly = search.get('read_only') ?? 'false'
  if (readOnly !== 'true' && readOnly !== 'false') faults.push({ field: 'read_only', message: 'must be true or false' })
  const find = search.get('tools')
  if (find !== null && find !== 'find') faults.push({ field: 'tools', message: 'must be find' })
  if (faults.length > 0) throw invalidData(faults)
  return { resources: toolsets && new Set(toolsets), readOnly: readOnly === 'true', find: find !== null || findsTools }
}

/** Whether the address of the client has the tool at all, whatever the scopes. */
export const isSelected = ({ resources, readOnly }: Selection, tool: Tool): boolean =>
  (resources === null || resources.has(tool.resource)) && (!readOnly || tool.isRead)

/** What the client may call, in the order of the description. */
export const toolsOf = (tools: Tools, selection: Selection, { scopes }: Principal): Tool[] =>
  [...tools.values()].filter(tool => isSelected(selection, tool) && permits(scopes, tool.scope))

/** Bytes of a list. Longer lists show their arguments in less detail. */
const MOST_OF_DETAILED = 120_000

const detailed = ({ listed, detailed }: Tool): ListedTool => (detailed ? { ...listed, inputSchema: detailed } : listed)

/** The tools as clients see them: in detail where that is short enough. */
export function listed(tools: readonly Tool[]): ListedTool[] {
  const inDetail = tools.map(detailed)
  return Buffer.byteLength(JSON.stringify(inDetail)) <= MOST_OF_DETAILED ? inDetail : tools.map(tool => tool.listed)
}

export const inDetail = detailed
