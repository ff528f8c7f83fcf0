import { ActionIcon, Box, Tooltip } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '../icons/index.ts'
import classes from './copied-code.module.css'

interface CopyIconProps {
  /** A function for a large text, which is built only when copied. */
  text: string | (() => string)
  label?: string
}

/** Copies a text, then confirms it. */
export function CopyIcon({ text, label = 'Copy' }: CopyIconProps) {
  const { copied, copy } = useClipboard()
  const shown = copied ? 'Copied' : label
  return (
    <Tooltip label={shown}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={shown}
        onClick={() => copy(typeof text === 'string' ? text : text())}
      >
        {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
      </ActionIcon>
    </Tooltip>
  )
}

/** A command or a secret to copy. */
export const CopiedCode = ({ text, label = 'Copy' }: { text: string; label?: string }) => (
  <Box className={classes.box}>
    {/* Scrolls, so a keyboard must reach it. */}
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
    <pre className={classes.code} tabIndex={0}>
      {text}
    </pre>
    <CopyIcon text={text} label={label} />
  </Box>
)
