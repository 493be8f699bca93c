import { UsageError } from './failure.ts'

const MAX_ID = 2 ** 31 - 1

/** The id of a project, as an operator writes it. */
export function projectId(text: string | undefined): number {
  if (text === undefined) throw new UsageError('which project? "project list" shows the ids')
  const id = /^\d+$/.test(text) ? Number(text) : 0
  if (id < 1 || id > MAX_ID) throw new UsageError(`${JSON.stringify(text)} is not a project id: "project list" shows the ids`)
  return id
}

/** The argument of most commands. */
export const PROJECT = { name: 'PROJECT', says: 'the number of a project, see "project list"' }
