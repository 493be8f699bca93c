import { requireCommand } from './debian-package.ts'

export default (): Promise<void> => requireCommand('redis-server')
