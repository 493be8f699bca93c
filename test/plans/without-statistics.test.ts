import { describe } from 'vitest'
import { inTurn } from '../harness/effort.ts'
import { testReads } from './few-reads.ts'

describe.each(inTurn(['embedded', 'debian'] as const))('on the Postgres called %s', testReads)
