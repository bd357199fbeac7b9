<?php

declare(strict_types=1);

const TOLERANCE = 300; // seconds

// Returns whether this raw body was signed with $secret ("whsec_…") within five minutes. $id, $timestamp and
// $signatures are the headers webhook-id, webhook-timestamp and webhook-signature.
function verify(string $secret, string $id, string $timestamp, string $signatures, string $body, ?int $now = null): bool
{
    if (!preg_match('/\A\d{1,12}\z/', $timestamp) || abs(($now ?? time()) - (int) $timestamp) > TOLERANCE) {
        return false;
    }
    $key = base64_decode(substr($secret, strlen('whsec_')), true);
    if ($key === false) {
        return false;
    }
    $expected = base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $signatures) as $one) {
        [$version, $value] = array_pad(explode(',', $one, 2), 2, '');
        if ($version === 'v1' && hash_equals($expected, $value)) {
            return true;
        }
    }
    return false;
}
