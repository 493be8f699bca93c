import type { Export } from '../../../../clients/typescript/src/index.ts'
import { Count } from '../../parts/amount.tsx'
import { bytes as bytesText } from '../../parts/bytes.ts'
import { Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { t } from '../../parts/t.ts'
import { checkCommand } from './words.ts'

/** What the file contains, and the command that checks it. */
export const Manifest = ({ one, manifest }: { one: Export; manifest: NonNullable<Export['manifest']> }) => (
  <>
    <h3 className="export-title">{t('Manifest')}</h3>
    <Pairs
      rows={[
        [t('Rows'), <Count key="rows" value={manifest.rows} />],
        [
          t('Size'),
          <span key="size" title={t('{n} bytes', { n: manifest.bytes })}>
            {bytesText(manifest.bytes)}
          </span>,
        ],
        [t('SHA-256'), <Copy key="sha" text={manifest.sha256} />],
        [t('Version of the columns'), String(manifest.columns_version)],
      ]}
    />
    {one.file_url !== null && (
      <>
        <h3 className="export-title">{t('Fetch and check it')}</h3>
        <Copy text={checkCommand(one, manifest.sha256)} />
        <p className="export-note">
          {t(
            'The address needs no key and works until the file expires. When a customer is erased, the file is written anew without their rows, and the manifest changes.',
          )}
        </p>
      </>
    )}
  </>
)
