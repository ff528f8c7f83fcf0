import { ActionIcon, CopyButton, Menu } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { Trace } from '../api/wire.ts'
import { IconBraces, IconCheck, IconDots, IconTerminal2, IconTrash } from '../icons/index.ts'
import { curlOf } from '../parts/curl.ts'
import { useMay } from '../parts/scopes.tsx'
import { DeleteTrace } from './delete-trace.tsx'
import { RawTrace } from './raw-trace.tsx'

/** The menu of actions on a trace, and its button. The menu starts out open. */
export function TraceMenu({ trace }: { trace: Trace }) {
  const [isRaw, raw] = useDisclosure()
  const [isDeleting, deleting] = useDisclosure()
  const mayDelete = useMay('manage')
  return (
    <>
      <Menu position="bottom-end" width={240} defaultOpened>
        <Menu.Target>
          <ActionIcon variant="default" aria-label="Trace actions">
            <IconDots size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconBraces size={16} aria-hidden />} onClick={raw.open}>
            Raw JSON
          </Menu.Item>
          <CopyButton value={curlOf(`/api/traces/${trace.id}`)}>
            {({ copied, copy }) => (
              <Menu.Item
                closeMenuOnClick={false}
                leftSection={copied ? <IconCheck size={16} aria-hidden /> : <IconTerminal2 size={16} aria-hidden />}
                onClick={copy}
              >
                {copied ? 'Copied' : 'Copy as curl'}
              </Menu.Item>
            )}
          </CopyButton>
          <Menu.Divider />
          <Menu.Item disabled={!mayDelete} leftSection={<IconTrash size={16} aria-hidden />} onClick={deleting.open}>
            {mayDelete ? 'Delete trace' : 'Delete (needs the “manage” scope)'}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isRaw && <RawTrace trace={trace} onClose={raw.close} />}
      {isDeleting && <DeleteTrace trace={trace} onClose={deleting.close} />}
    </>
  )
}
