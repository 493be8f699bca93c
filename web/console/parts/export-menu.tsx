import { Button, Menu } from '@mantine/core'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

export type Download = { says: string; file: string; make: () => Blob | Promise<Blob> }

/** What the page shows, as files. */
export const ExportMenu = ({ downloads }: { downloads: readonly Download[] }) => (
  <Menu position="bottom-end" withinPortal>
    <Menu.Target>
      <Button variant="default" size="xs" leftSection={<Icon name="download" size={14} />}>
        {t('Download')}
      </Button>
    </Menu.Target>
    <Menu.Dropdown>
      {downloads.map(({ says, file, make }) => (
        <Menu.Item key={says} onClick={async () => save(await make(), file)}>
          {says}
        </Menu.Item>
      ))}
    </Menu.Dropdown>
  </Menu>
)

function save(blob: Blob, file: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = file
  link.click()
  URL.revokeObjectURL(link.href)
}

/** CSV that a spreadsheet opens: quoted where needed, and no cell begins a formula. */
export function csv(rows: readonly (readonly (string | number | null | undefined)[])[]): Blob {
  const cell = (value: string | number | null | undefined) => {
    const text = value === null || value === undefined ? '' : String(value)
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return new Blob([`${rows.map(row => row.map(cell).join(',')).join('\n')}\n`], { type: 'text/csv' })
}
