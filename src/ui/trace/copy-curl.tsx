import { ActionIcon, CopyButton, Tooltip } from '@mantine/core'
import { IconCheck, IconTerminal2 } from '../icons/index.ts'

/** Copies a curl command. */
export const CopyCurl = ({ command, label }: { command: string; label: string }) => (
  <CopyButton value={command}>
    {({ copied, copy }) => (
      <Tooltip label={copied ? 'Copied' : label}>
        <ActionIcon variant="subtle" color="gray" aria-label={copied ? 'Copied' : label} onClick={copy}>
          {copied ? <IconCheck size={16} aria-hidden /> : <IconTerminal2 size={16} aria-hidden />}
        </ActionIcon>
      </Tooltip>
    )}
  </CopyButton>
)
