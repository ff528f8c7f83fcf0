import { notifications } from '@mantine/notifications'

const ID = 'rate limit'

/** Shows that the page is waiting because of the rate limit. */
export function showWait(seconds: number): void {
  notifications.hide(ID)
  notifications.show({
    id: ID,
    color: 'yellow',
    title: 'Too many requests',
    message: `Continuing in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`,
    autoClose: 1000 * seconds + 500,
  })
}
