import { countAnew } from './events.ts'

// Runs before each test file. The files of one process share what is loaded: what one has counted must not change what the next one makes.
countAnew()
