import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import type { IntegrationConfig } from '../../../../clients/typescript/src/index.ts'
import { useOne, useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { Again } from '../../parts/again.tsx'
import { Fault } from '../../parts/fault.tsx'
import { useLook } from '../../parts/meanwhile.tsx'
import { REVEAL, ShownOnce } from '../../parts/shown-once.tsx'
import { t } from '../../parts/t.ts'
import { formOf, type Setting, settingsOf } from './fields.ts'

/** Another signing secret, made by the service. Everything else stays as it is stored. */
export default function RotateSigning({
  config,
  known,
  onClose,
}: {
  config: IntegrationConfig
  known: readonly Setting[]
  onClose: () => void
}) {
  const [address, setAddress] = useState<string>()
  const [done, setDone] = useState(false)
  const { send, isPending } = useWrite('v4UpdateIntegrationConfig', {
    changes: ['v4ListIntegrations'],
    heard: headers => setAddress(headers.get(REVEAL) ?? undefined),
  })
  const path = { integration_id: config.integration_id }
  const look = useLook('v4GetIntegrationConfig', { path })
  const [failed, setFailed] = useState<unknown>()
  const rotate = useOne(async () => {
    setFailed(undefined)
    // The whole configuration is stored: what somebody has changed since this page was read stays.
    const now = await look()
    const settings = settingsOf(formOf(now, known), known, { signing_secret: null })
    const { events, event_mapping, revenue } = now
    await send({ path, body: { settings, events, event_mapping, revenue } })
    setDone(true)
  })
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('Replace the signing secret')}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': t('Close') }}
    >
      {done ? (
        <ShownOnce address={address} says={t('There is a new signing secret. The former one signs too for 24 hours.')} onClose={onClose} />
      ) : (
        <Again error={failed}>
          <div className="form">
            <p>{t('The service makes a new one. For 24 hours each webhook has two signatures, so that your server can change over.')}</p>
            {failed !== undefined && <Fault error={failed} />}
            <div className="form-actions">
              <Button variant="default" size="xs" onClick={onClose}>
                {t('Cancel')}
              </Button>
              <Act denied={undefined} size="xs" loading={isPending} onClick={() => void rotate().catch(setFailed)} data-autofocus>
                {t('Replace it')}
              </Act>
            </div>
          </div>
        </Again>
      )}
    </Modal>
  )
}
