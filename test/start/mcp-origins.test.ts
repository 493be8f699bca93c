import { expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'

test('MCP_ALLOWED_ORIGINS lists origins, and nothing else', () => {
  const read = (text?: string) => readConfig({ ...(text !== undefined && { MCP_ALLOWED_ORIGINS: text }) }).mcpOrigins
  expect([read(), read(' https://a.example, http://localhost:3000 ')]).toEqual([[], ['https://a.example', 'http://localhost:3000']])
  for (const wrong of ['https://a.example/', '*', 'a.example', 'https://a.example/mcp'])
    expect(() => read(wrong)).toThrow('must be an origin')
})
