import { useState } from 'react'
import { useSearchParams } from 'wouter'
import type { WebhookWithSecret } from '../api/wire.ts'
import { SecretModal } from './secret-modal.tsx'
import { hostOf } from './webhook-host.ts'
import { WebhookList } from './webhook-list.tsx'
import { WebhookSecret } from './webhook-secret.tsx'
import { WebhookView } from './webhook-view.tsx'
import { refreshWebhooks } from './writes.ts'

/** The organization's webhooks, or one of them with its deliveries. */
export function WebhooksTab() {
  const [parameters] = useSearchParams()
  // This state is kept here so that a change to the list doesn't close the dialog.
  const [made, setMade] = useState<WebhookWithSecret>()
  const id = parameters.get('webhook')
  return (
    <>
      {id === null ? <WebhookList onMade={setMade} /> : <WebhookView key={id} id={id} onMade={setMade} />}
      <SecretModal
        title={made && `Secret for ${hostOf(made)}`}
        onDone={() => {
          setMade(undefined)
          refreshWebhooks()
        }}
      >
        {done => made && <WebhookSecret webhook={made} onDone={done} />}
      </SecretModal>
    </>
  )
}
