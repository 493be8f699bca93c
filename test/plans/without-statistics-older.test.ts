import { testReads } from './few-reads.ts'

testReads('debian')
