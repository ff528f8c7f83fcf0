import { ActionIcon, Box, CopyButton, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import classes from './copied-code.module.css'

interface CopyIconProps {
  text: string
  label?: string
}

/** Copies a text; says so once it did. */
export const CopyIcon = ({ text, label = 'Copy' }: CopyIconProps) => (
  <CopyButton value={text}>
    {({ copied, copy }) => (
      <Tooltip label={copied ? 'Copied' : label}>
        <ActionIcon variant="subtle" color="gray" aria-label={copied ? 'Copied' : label} onClick={copy}>
          {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
        </ActionIcon>
      </Tooltip>
    )}
  </CopyButton>
)

/** A command or a secret to copy. */
export const CopiedCode = ({ text, label = 'Copy' }: CopyIconProps) => (
  <Box className={classes.box}>
    {/* Scrolls, so a keyboard must reach it. */}
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
    <pre className={classes.code} tabIndex={0}>
      {text}
    </pre>
    <CopyIcon text={text} label={label} />
  </Box>
)
