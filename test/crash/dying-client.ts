import { writeSync } from 'node:fs'
import { FROZEN } from '../harness/process.ts'

/** What a client of a database is asked with. */
type Query = (statement: unknown, ...more: unknown[]) => unknown

const textOf = (statement: unknown): string => String(typeof statement === 'string' ? statement : (statement as { text: string }).text)

/**
 * Kills this process at the statement DIE_AT (1, 2, …): before it is sent, or right behind that with DIE=sent. Before that it writes the line
 * `FROZEN`, at the end of a process
 * that did not die the number of statements (`statements: n`), and how each begins.
 */
export function dyingAt(original: Query): Query {
  const at = Number(process.env.DIE_AT)
  let requestCount = 0
  const heads: string[] = []
  process.on('exit', () => writeSync(1, `statements: ${requestCount}\n${heads.join('\n')}\n`))
  return (statement, ...more) => {
    requestCount++
    const head = textOf(statement).trim().replace(/\s+/g, ' ').slice(0, 60)
    heads.push(head)
    const die = () => {
      writeSync(1, `${FROZEN} ${requestCount}: ${head}\n`)
      process.kill(process.pid, 'SIGKILL')
    }
    if (requestCount !== at) return original(statement, ...more)
    if (process.env.DIE !== 'sent') die()
    const answer = original(statement, ...more)
    setImmediate(die)
    return answer
  }
}
