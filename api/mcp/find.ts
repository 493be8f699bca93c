import { invalidData } from '../errors.ts'
import type { Arguments } from './input.ts'
import { errorAnswer, type ToolAnswer, toolAnswer } from './result.ts'
import { inDetail, type Tool } from './tools.ts'

export const CALL_OPERATION = 'call_operation'

const closed = (properties: Record<string, object>, required: string[]) => ({
  type: 'object' as const,
  properties,
  required,
  additionalProperties: false,
})
const NAME = { type: 'string', description: 'Of the operation, such as list_events.' }

/** In place of all others, for clients that take few tools. */
export const FINDING = [
  {
    name: 'find_operations',
    title: 'Find operations',
    description:
      'The operations that have all the words in their name, title or description, each with one line; all of them without words.',
    inputSchema: closed({ words: { type: 'string', description: 'Such as: refund chart.' } }, []),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  {
    name: 'describe_operation',
    title: 'Describe an operation',
    description: 'The arguments of an operation as a JSON schema, and what it does. Read it before you call the operation.',
    inputSchema: closed({ name: NAME }, ['name']),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  {
    name: CALL_OPERATION,
    title: 'Call an operation',
    description:
      'Calls an operation. One that deletes or revokes answers 202 with a confirmation first, and changes nothing before it is confirmed.',
    inputSchema: closed({ name: NAME, arguments: { type: 'object', description: 'As describe_operation has them.' } }, ['name']),
    annotations: { destructiveHint: true, openWorldHint: true },
  },
]

const line = ({ listed }: Tool) => ({ name: listed.name, title: listed.title })

/** Finds and describes operations, with the whole text in both revisions of the protocol, among those that the client may call. Null: no tool of this name. */
export function find(name: string, tools: readonly Tool[], given: Arguments): ToolAnswer | null {
  if (name === 'find_operations') {
    const { words: text = '' } = given
    if (typeof text !== 'string') return errorAnswer(invalidData([{ field: 'words', message: 'must be string' }]))
    const words = text.toLowerCase().split(/\W+/).filter(Boolean)
    const found = tools.filter(({ listed }) => {
      const whole = `${listed.name.replaceAll('_', ' ')} ${listed.title} ${listed.description}`.toLowerCase()
      return words.every(word => whole.includes(word))
    })
    return toolAnswer('earlier', JSON.stringify({ status: 200, result: { operations: found.map(line) } }))
  }
  if (name !== 'describe_operation') return null
  const tool = tools.find(({ listed }) => listed.name === given.name)
  if (!tool) return errorAnswer(invalidData([{ field: 'name', message: 'must be the name of an operation that find_operations finds' }]))
  const { title, description, inputSchema, annotations } = inDetail(tool)
  const result = { name: tool.listed.name, title, description, arguments: inputSchema, annotations }
  return toolAnswer('earlier', JSON.stringify({ status: 200, result }))
}

/** The operation that is called by its name, with its arguments. */
export const calledByName = (given: Arguments): { name: string; given: Arguments } => ({
  name: typeof given.name === 'string' ? given.name : '',
  given: (typeof given.arguments === 'object' && given.arguments !== null && !Array.isArray(given.arguments)
    ? given.arguments
    : {}) as Arguments,
})
