import { countAnew } from './events.ts'

// Runs before each test file. The test files of one process share loaded modules: the counts of one file must not change the ids of the next.
countAnew()
