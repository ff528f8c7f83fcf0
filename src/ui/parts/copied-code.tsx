import { Box } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '../icons/index.ts'
import classes from './copied-code.module.css'
import { IconButton, type IconButtonProps } from './icon-button.tsx'

interface CopyIconProps {
  /** A function if the text is large, so that the text is built only when copied. */
  text: string | (() => string)
  label?: string
  Icon?: IconButtonProps['Icon']
}

/** Copies text, then confirms it. */
export function CopyIcon({ text, label = 'Copy', Icon = IconCopy }: CopyIconProps) {
  const { copied, copy } = useClipboard()
  return (
    <IconButton
      label={copied ? 'Copied' : label}
      Icon={copied ? IconCheck : Icon}
      onClick={() => copy(typeof text === 'string' ? text : text())}
    />
  )
}

/** A command or a secret to copy. */
export const CopiedCode = ({ text, label = 'Copy' }: { text: string; label?: string }) => (
  <Box className={classes.box}>
    {/* This box scrolls, so people must be able to reach it with the keyboard. */}
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
    <pre className={classes.code} tabIndex={0}>
      {text}
    </pre>
    <CopyIcon text={text} label={label} />
  </Box>
)
