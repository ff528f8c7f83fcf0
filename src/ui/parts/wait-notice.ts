import { notifications } from '@mantine/notifications'

const ID = 'rate limit'

/** Says why a page waits, for as long as it does. */
export function showWait(seconds: number): void {
  notifications.hide(ID)
  notifications.show({
    id: ID,
    color: 'yellow',
    title: 'Too many requests in one minute',
    message: `Continuing automatically in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`,
    autoClose: 1000 * seconds + 500,
  })
}
