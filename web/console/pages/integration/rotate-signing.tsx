import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import type { IntegrationConfig } from '../../../../clients/typescript/src/index.ts'
import { useWrite } from '../../data/write.ts'
import { Again } from '../../parts/again.tsx'
import { Fault } from '../../parts/fault.tsx'
import { t } from '../../parts/t.ts'
import { REVEAL, ShownOnce } from '../settings/shown-once.tsx'
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
  const { send, isPending, error } = useWrite('v4UpdateIntegrationConfig', {
    changes: ['v4ListIntegrations'],
    heard: headers => setAddress(headers.get(REVEAL) ?? undefined),
  })
  const { events, event_mapping, revenue } = config
  const settings = settingsOf(formOf(config, known), known, { signing_secret: null })
  const rotate = () =>
    void send({ path: { integration_id: config.integration_id }, body: { settings, events, event_mapping, revenue } }).then(
      answer => answer && setDone(true),
      () => {},
    )
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
        <Again error={error}>
          <div className="form">
            <p>{t('The service makes a new one. For 24 hours each webhook has two signatures, so that your server can change over.')}</p>
            {error && <Fault error={error} />}
            <div className="form-actions">
              <Button variant="default" size="xs" onClick={onClose}>
                {t('Cancel')}
              </Button>
              <Button size="xs" loading={isPending} onClick={rotate} data-autofocus>
                {t('Replace it')}
              </Button>
            </div>
          </div>
        </Again>
      )}
    </Modal>
  )
}
