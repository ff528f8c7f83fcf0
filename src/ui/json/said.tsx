import { Text } from '@mantine/core'
import classes from './shown-text.module.css'
import { ShownText } from './shown-text.tsx'

/** What someone wrote, with its line breaks. */
export const Said = ({ text }: { text: string }) => (
  <Text size="sm" className={classes.said} dir="auto">
    <ShownText text={text} />
  </Text>
)
