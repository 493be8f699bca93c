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
export function dyingAt(ask: Query): Query {
  const at = Number(process.env.DIE_AT)
  let asked = 0
  const heads: string[] = []
  process.on('exit', () => writeSync(1, `statements: ${asked}\n${heads.join('\n')}\n`))
  return (statement, ...more) => {
    asked++
    const head = textOf(statement).trim().replace(/\s+/g, ' ').slice(0, 60)
    heads.push(head)
    const die = () => {
      writeSync(1, `${FROZEN} ${asked}: ${head}\n`)
      process.kill(process.pid, 'SIGKILL')
    }
    if (asked !== at) return ask(statement, ...more)
    if (process.env.DIE !== 'sent') die()
    const answer = ask(statement, ...more)
    setImmediate(die)
    return answer
  }
}
