import { Button, Menu } from '@mantine/core'
import { type AnyInput, callOf, type Input, type OperationName } from '../data/operations.ts'
import { Icon } from './icon.tsx'
import { t } from './t.ts'
import { say } from './undo.tsx'

/** The operation that fills a page, to copy: what the console does, every program with a key can do. */
export function ShowTheCall<Name extends OperationName>({ name, input }: { name: Name; input?: Input<Name> }) {
  const copy = (text: string) => void navigator.clipboard.writeText(text).then(() => say(t('The call is copied')))
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<Icon name="code" size={14} />}>
          {t('Show the call')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{name}</Menu.Label>
        <Menu.Item onClick={() => copy(curlOf(name, input as AnyInput))}>{t('Copy as curl')}</Menu.Item>
        <Menu.Item onClick={() => copy(scriptOf(name, input as AnyInput))}>{t('Copy as TypeScript')}</Menu.Item>
        <Menu.Item component="a" href={`/docs/reference#${name}`} target="_blank">
          {t('In the reference')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

export function curlOf(name: OperationName, input: AnyInput = {}): string {
  const { method, path } = callOf(name, input)
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}"${location.origin}${path}"`, '-H "Authorization: Bearer $KEY"']
  if (input.body !== undefined)
    lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(input.body).replaceAll("'", "'\\''")}'`)
  return lines.join(' \\\n  ')
}

const scriptOf = (name: OperationName, input: AnyInput = {}) =>
  `await perennial({ url: '${location.origin}', key }).${name}(${JSON.stringify(input, undefined, 2)})`
