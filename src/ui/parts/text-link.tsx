import { Anchor, type AnchorProps } from '@mantine/core'
import type { PropsWithChildren } from 'react'
import { Link } from 'wouter'

type TextLinkProps = PropsWithChildren<AnchorProps & { href: string; onClick?: () => void }>

/** A link to another page, within running text. */
export const TextLink = (props: TextLinkProps) => <Anchor component={Link} inherit {...props} />
