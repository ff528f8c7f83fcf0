import { Text } from '@mantine/core'
import { count, share } from '../parts/format.ts'
import classes from './acceptance.module.css'

interface AcceptanceProps {
  accepted: number
  corrected: number
}

/** How often reviewers accepted a version's outputs, as a bar and in words. */
export function Acceptance({ accepted, corrected }: AcceptanceProps) {
  const decided = accepted + corrected
  return (
    <div className={classes.acceptance}>
      <div className={classes.bar} aria-hidden>
        {accepted > 0 && <span className={classes.accepted} style={{ flexGrow: accepted }} />}
        {corrected > 0 && <span className={classes.corrected} style={{ flexGrow: corrected }} />}
      </div>
      <Text size="xs" c="dimmed">
        {decided === 0
          ? 'No reviewed outputs yet'
          : `${share(accepted, decided)} accepted (${count(accepted)} accepted, ${count(corrected)} corrected)`}
      </Text>
    </div>
  )
}
