import { Title } from '@mantine/core'

export const Page = () => <Title order={1}>Soon</Title>
